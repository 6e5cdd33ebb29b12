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

// perPage is the largest page size of the API. Gitea returns smaller pages.
const perPage = 100

// maxPages is the maximum number of pages that are read of a list.
const maxPages = 30

// ErrTooManyPages means that a list has more pages than this package reads.
var ErrTooManyPages = errors.New("the list of artifacts has too many pages")

// NextPage returns the next page of a list, which starts with the newest artifacts. After the last page it
// returns nil. A page that is not the last may be empty, but is not nil. If the list continues after the
// maximum number of pages, NextPage returns ErrTooManyPages.
type NextPage func(context.Context) ([]RunArtifact, error)

// artifactsPage is a page of a list of artifacts, as the API encodes it in JSON.
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

// List returns the artifacts with a name in all workflow runs, newest first. A page is requested when
// NextPage is called.
func (a *Archive) List(name string) NextPage {
	return (&pageReader{api: a.api, path: "actions/artifacts?name=" + url.QueryEscape(name) + "&", name: name, most: maxPages}).next
}

// ListRun returns all artifacts of one workflow run, in the same way as List.
func (a *Archive) ListRun(run int64) NextPage {
	return (&pageReader{api: a.api, path: fmt.Sprintf("actions/runs/%d/artifacts?", run), most: maxPages}).next
}

// ListAll returns all artifacts of all workflow runs, in the same way as List. The parameter most is the
// maximum number of pages.
func (a *Archive) ListAll(most int) NextPage {
	return (&pageReader{api: a.api, path: "actions/artifacts?", most: most}).next
}

// pageReader reads a list page by page.
type pageReader struct {
	api         *forge.Client
	path        string
	name        string // if not empty, only artifacts with this name are returned
	most        int    // maximum number of pages
	pages       int    // total number of pages, if all are as long as the first page; 0 before the first page is read
	oldestFirst bool   // the service sorts oldest first, unlike GitHub, so the list is read from its last page
	read        int    // number of pages read
	last        int64  // id of the last artifact that was returned; 0 before the first
}

// next returns the next page, newest first. It implements NextPage.
func (l *pageReader) next(ctx context.Context) ([]RunArtifact, error) {
	n := l.read + 1
	switch {
	case l.pages > 0 && l.read == l.pages:
		return nil, nil
	case l.read >= l.most:
		return nil, ErrTooManyPages
	case l.oldestFirst:
		n = l.pages - l.read
	}
	var page artifactsPage
	path := fmt.Sprintf("%sper_page=%d&limit=%[2]d&page=%d", l.path, perPage, n) // "limit" is Gitea's name for per_page
	if err := l.api.Get(ctx, "list artifacts", path, &page); err != nil {
		return nil, err
	}
	if l.pages == 0 {
		size := len(page.Artifacts)
		if l.pages = 1; size > 0 {
			l.pages = (page.Total + size - 1) / size
		}
		if l.oldestFirst = l.pages > 1 && page.Artifacts[0].ID < page.Artifacts[size-1].ID; l.oldestFirst {
			return l.next(ctx)
		}
	}
	l.read++
	list := []RunArtifact{}
	for _, f := range page.Artifacts {
		// While a list is being read, a new artifact moves others to the next page. Artifacts that were on the
		// previous page are skipped.
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
	return list, nil
}
