package artifacts

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/google/go-github/v60/github"
)

// perPage is the largest page that the API gives; Gitea's are smaller.
const perPage = 100

// maxPages is how many pages are read at most.
const maxPages = 10

// artifactsPage is a page of artifacts; the library lacks some of its fields.
type artifactsPage struct {
	Total     int `json:"total_count"`
	Artifacts []struct {
		github.Artifact
		Digest string `json:"digest"`
		Run    struct {
			ID             int64 `json:"id"`
			HeadRepository int64 `json:"head_repository_id"`
			Repository     int64 `json:"repository_id"`
		} `json:"workflow_run"`
	} `json:"artifacts"`
}

// Find returns the artifacts of the given name in all runs, newest first: with
// one request the newest 100, and where the service tells the oldest first, those
// of its last two pages. While a page has nothing but what runs of forks stored,
// the next is read too, up to ten: nobody outside can hide what is there.
func (a *Archive) Find(ctx context.Context, name string) ([]Stored, error) {
	first, err := a.page(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	list := first.list
	pages := first.pages()
	if first.oldestFirst() {
		for n := pages; n > max(1, pages-2); n-- {
			if list, err = a.more(ctx, list, name, n); err != nil {
				return nil, err
			}
		}
	}
	for n := 2; n <= min(pages, maxPages) && onlyForks(list) && !first.oldestFirst(); n++ {
		if list, err = a.more(ctx, list, name, n); err != nil {
			return nil, err
		}
	}
	return newest(list), nil
}

// more appends a page to a list.
func (a *Archive) more(ctx context.Context, list []Stored, name string, n int) ([]Stored, error) {
	p, err := a.page(ctx, name, n)
	return append(list, p.list...), err
}

// newest sorts by id, and drops what a page repeats of another because something
// was stored meanwhile.
func newest(list []Stored) []Stored {
	slices.SortFunc(list, func(a, b Stored) int { return cmp.Compare(b.ID, a.ID) })
	return slices.CompactFunc(list, func(a, b Stored) bool { return a.ID == b.ID })
}

// onlyForks reports whether a list has nothing that could be the repository's own.
func onlyForks(list []Stored) bool {
	return !slices.ContainsFunc(list, func(s Stored) bool {
		return s.HeadRepository == 0 || s.HeadRepository == s.Repository
	})
}

// page is one page of an answer.
type page struct {
	list  []Stored
	size  int // artifacts on it, of any name
	total int // on all pages
}

// pages returns how many there are of the size of this one.
func (p page) pages() int {
	if p.size == 0 {
		return 1
	}
	return (p.total + p.size - 1) / p.size
}

// oldestFirst reports whether the service sorts the other way round than GitHub.
func (p page) oldestFirst() bool {
	n := len(p.list)
	return n > 1 && p.list[0].ID < p.list[n-1].ID
}

// page asks for one page, counted from 1. Gitea calls the size of a page limit.
func (a *Archive) page(ctx context.Context, name string, n int) (page, error) {
	path := fmt.Sprintf("repos/%s/%s/actions/artifacts?name=%s&per_page=%d&limit=%[4]d&page=%d",
		url.PathEscape(a.owner), url.PathEscape(a.repo), url.QueryEscape(name), perPage, n)
	var answer artifactsPage
	if err := a.get(ctx, "list artifacts", path, &answer); err != nil {
		return page{}, err
	}
	p := page{size: len(answer.Artifacts), total: answer.Total}
	for _, f := range answer.Artifacts {
		if f.GetName() != name {
			continue
		}
		p.list = append(p.list, Stored{
			Artifact: Artifact{ID: f.GetID(), Name: name, Size: f.GetSizeInBytes(), Digest: f.Digest, Created: f.GetCreatedAt().Time},
			Expired:  f.GetExpired(), RunID: f.Run.ID,
			HeadRepository: f.Run.HeadRepository, Repository: f.Run.Repository,
		})
	}
	return p, nil
}
