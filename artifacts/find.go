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

// maxPages is how many pages of a list are read.
const maxPages = 30

// ErrTooManyPages means that a list has more pages than are read.
var ErrTooManyPages = errors.New("the list of artifacts has too many pages")

// NextPage returns the next page of a list, newest artifacts first, and nil after the last page. A page
// may be empty without being nil. After 30 pages it returns ErrTooManyPages if the list continues.
type NextPage func(context.Context) ([]RunArtifact, error)

// artifactsPage is the JSON of a page of artifacts.
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

// List returns the artifacts with a name in all workflow runs, newest first. Each page is requested
// when it is read.
func (a *Archive) List(name string) NextPage {
	return (&pageReader{api: a.api, path: "actions/artifacts?name=" + url.QueryEscape(name) + "&", name: name, most: maxPages}).next
}

// ListRun is List for all artifacts of one workflow run.
func (a *Archive) ListRun(run int64) NextPage {
	return (&pageReader{api: a.api, path: fmt.Sprintf("actions/runs/%d/artifacts?", run), most: maxPages}).next
}

// ListAll is List for all artifacts of all workflow runs, limited to most pages.
func (a *Archive) ListAll(most int) NextPage {
	return (&pageReader{api: a.api, path: "actions/artifacts?", most: most}).next
}

// pageReader is the position in a list.
type pageReader struct {
	api         *forge.Client
	path        string
	name        string // only artifacts with this name; "" for all
	most        int    // maximum number of pages
	pages       int    // total number of pages of the size of the first; 0 before the first is read
	oldestFirst bool   // the service sorts oldest first, unlike GitHub, so the last page has the newest artifacts
	read        int    // number of pages read
	last        int64  // id of the last artifact returned; 0 for none
}

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
	return l.take(page), nil
}

// take returns the artifacts of a page, newest first. It skips artifacts that the previous page had too
// because a new artifact shifted the list.
func (l *pageReader) take(page artifactsPage) []RunArtifact {
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
