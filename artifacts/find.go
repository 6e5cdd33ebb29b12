package artifacts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// perPage is the largest page that the API gives; Gitea's are smaller.
const perPage = 100

// maxPages is how many pages of one list are read at most.
const maxPages = 30

// ErrTooManyPages says that a list has more pages than are read of it.
var ErrTooManyPages = errors.New("the list of artifacts has more pages than are read of it")

// NextPage returns the next page of a list, newest first, and nothing after the last.
// A page that is not nil may be empty. A list with more than 30 pages ends with
// ErrManyPages.
type NextPage func(context.Context) ([]RunArtifact, error)

// artifactsPage is a page of artifacts.
type artifactsPage struct {
	Total     int `json:"total_count"`
	Artifacts []struct {
		ID      int64
		Name    string
		Size    int64 `json:"size_in_bytes"`
		Digest  string
		Expired bool
		Created time.Time `json:"created_at"`
		Run     struct {
			ID             int64
			HeadRepository int64  `json:"head_repository_id"`
			Repository     int64  `json:"repository_id"`
			HeadBranch     string `json:"head_branch"`
		} `json:"workflow_run"`
	}
}

// List returns the artifacts of the given name in all runs, newest first, one page
// at a time, when it is asked for.
func (a *Archive) List(name string) NextPage {
	return (&reading{api: a.api, path: "actions/artifacts?name=" + url.QueryEscape(name) + "&", name: name, most: maxPages}).next
}

// ListRun returns all artifacts of a workflow run, in the same way.
func (a *Archive) ListRun(run int64) NextPage {
	return (&reading{api: a.api, path: fmt.Sprintf("actions/runs/%d/artifacts?", run), most: maxPages}).next
}

// ListAll returns all artifacts of all runs, in the same way, and at most so many pages.
func (a *Archive) ListAll(most int) NextPage {
	return (&reading{api: a.api, path: "actions/artifacts?", most: most}).next
}

// reading is how far a list has been read.
type reading struct {
	api   *forge.Client
	path  string
	name  string // of the artifacts; "" for all
	most  int    // pages
	pages int    // that there are, of the size of the first; 0 before the first is read
	older bool   // the service sorts the other way round than GitHub: its last page is the newest
	read  int    // pages so far
	last  int64  // id of the last artifact that was returned; 0 for none yet
}

func (l *reading) next(ctx context.Context) ([]RunArtifact, error) {
	n := l.read + 1
	switch {
	case l.pages > 0 && l.read == l.pages:
		return nil, nil
	case l.read >= l.most:
		return nil, ErrTooManyPages
	case l.older:
		n = l.pages - l.read
	}
	var page artifactsPage
	path := fmt.Sprintf("%sper_page=%d&limit=%[2]d&page=%d", l.path, perPage, n) // Gitea calls the size of a page limit
	if err := l.api.Get(ctx, "list artifacts", path, &page); err != nil {
		return nil, err
	}
	if l.pages == 0 {
		size := len(page.Artifacts)
		if l.pages = 1; size > 0 {
			l.pages = (page.Total + size - 1) / size
		}
		if l.older = l.pages > 1 && page.Artifacts[0].ID < page.Artifacts[size-1].ID; l.older {
			return l.next(ctx)
		}
	}
	l.read++
	return l.take(page), nil
}

// take returns what a page has, sorted by id, without what it repeats of the one before because
// something was stored meanwhile.
func (l *reading) take(page artifactsPage) []RunArtifact {
	list := []RunArtifact{}
	for _, f := range page.Artifacts {
		if isRepeated := l.last != 0 && f.ID >= l.last; isRepeated || l.name != "" && f.Name != l.name {
			continue
		}
		list = append(list, RunArtifact{
			Artifact: Artifact{ID: f.ID, Name: f.Name, Size: f.Size, Digest: f.Digest, Created: f.Created},
			Expired:  f.Expired, RunID: f.Run.ID, HeadBranch: f.Run.HeadBranch,
			HeadRepository: f.Run.HeadRepository, Repository: f.Run.Repository,
		})
	}
	slices.SortFunc(list, func(a, b RunArtifact) int { return cmp.Compare(b.ID, a.ID) })
	if len(list) > 0 {
		l.last = list[len(list)-1].ID
	}
	return list
}
