package artifacts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/google/go-github/v60/github"
)

// perPage is the largest page that the API gives; Gitea's are smaller.
const perPage = 100

// maxPages is how many pages of one list are read at most.
const maxPages = 30

// ErrManyPages says that a list has more pages than are read of it.
var ErrManyPages = errors.New("the list of artifacts has more pages than are read of it")

// Pages returns the next page of a list, newest first, and nothing after the last.
// A page that is not nil may be empty. A list with more than 30 pages ends with
// ErrManyPages.
type Pages func(context.Context) ([]Stored, error)

// artifactsPage is a page of artifacts; the library lacks some of its fields.
type artifactsPage struct {
	Total     int `json:"total_count"`
	Artifacts []struct {
		github.Artifact
		Digest string `json:"digest"`
		Run    struct {
			ID             int64  `json:"id"`
			HeadRepository int64  `json:"head_repository_id"`
			Repository     int64  `json:"repository_id"`
			HeadBranch     string `json:"head_branch"`
		} `json:"workflow_run"`
	} `json:"artifacts"`
}

// List returns the artifacts of the given name in all runs, newest first, one page
// at a time, when it is asked for.
func (a *Archive) List(name string) Pages {
	return (&reading{archive: a, name: name, most: maxPages}).next
}

// ListRun returns all artifacts of a workflow run, in the same way.
func (a *Archive) ListRun(run int64) Pages {
	return (&reading{archive: a, run: run, most: maxPages}).next
}

// ListAll returns all artifacts of all runs, in the same way, and at most so many pages.
func (a *Archive) ListAll(most int) Pages {
	return (&reading{archive: a, most: most}).next
}

// reading is how far a list has been read.
type reading struct {
	archive *Archive
	name    string // of artifacts in all runs; "" for all of them, or of one run
	run     int64  // 0 for all runs
	most    int    // pages
	pages   int    // that there are; 0 before the first is read
	older   bool   // the service sorts the other way round than GitHub: its last page is the newest
	read    int    // pages so far
	last    int64  // id of the last artifact that was returned; 0 for none yet
}

func (l *reading) next(ctx context.Context) ([]Stored, error) {
	if l.pages == 0 {
		p, err := l.page(ctx, 1)
		if err != nil {
			return nil, err
		}
		l.pages, l.older = p.pages(), p.older && p.pages() > 1
		if !l.older {
			l.read = 1
			return l.take(p.list), nil
		}
	}
	n := l.read + 1
	if l.older {
		n = l.pages - l.read
	}
	switch {
	case l.read == l.pages:
		return nil, nil
	case l.read >= l.most:
		return nil, ErrManyPages
	}
	p, err := l.page(ctx, n)
	if err != nil {
		return nil, err
	}
	l.read++
	return l.take(p.list), nil
}

// take sorts a page by id, and drops what it repeats of the one before because
// something was stored meanwhile.
func (l *reading) take(list []Stored) []Stored {
	slices.SortFunc(list, func(a, b Stored) int { return cmp.Compare(b.ID, a.ID) })
	list = slices.DeleteFunc(list, func(s Stored) bool { return l.last != 0 && s.ID >= l.last })
	if len(list) > 0 {
		l.last = list[len(list)-1].ID
	}
	if list == nil {
		list = []Stored{}
	}
	return list
}

// page is one page of an answer.
type page struct {
	list  []Stored
	size  int  // artifacts on it, of any name
	total int  // on all pages
	older bool // the service sorts the other way round than GitHub
}

// pages returns how many there are of the size of this one.
func (p page) pages() int {
	if p.size == 0 {
		return 1
	}
	return (p.total + p.size - 1) / p.size
}

// page asks for one page, counted from 1. Gitea calls the size of a page limit.
func (l *reading) page(ctx context.Context, n int) (page, error) {
	path := fmt.Sprintf("actions/artifacts?per_page=%d&limit=%[1]d&page=%d", perPage, n)
	switch {
	case l.name != "":
		path += "&name=" + url.QueryEscape(l.name)
	case l.run != 0:
		path = fmt.Sprintf("actions/runs/%d/artifacts?per_page=%d&limit=%[2]d&page=%d", l.run, perPage, n)
	}
	var answer artifactsPage
	if err := l.archive.api.Get(ctx, "list artifacts", path, &answer); err != nil {
		return page{}, err
	}
	p := page{size: len(answer.Artifacts), total: answer.Total}
	for _, f := range answer.Artifacts {
		if l.name != "" && f.GetName() != l.name {
			continue
		}
		p.list = append(p.list, Stored{
			Artifact: Artifact{ID: f.GetID(), Name: f.GetName(), Size: f.GetSizeInBytes(), Digest: f.Digest, Created: f.GetCreatedAt().Time},
			Expired:  f.GetExpired(), RunID: f.Run.ID, HeadBranch: f.Run.HeadBranch,
			HeadRepository: f.Run.HeadRepository, Repository: f.Run.Repository,
		})
	}
	n = len(p.list)
	p.older = n > 1 && p.list[0].ID < p.list[n-1].ID
	return p, nil
}
