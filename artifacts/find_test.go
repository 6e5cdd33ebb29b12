package artifacts_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// listed reads all pages of a list of artifacts.
func listed(t *testing.T, a *artifacts.Archive, name string) ([]artifacts.RunArtifact, error) {
	t.Helper()
	var all []artifacts.RunArtifact
	for next := a.List(name); ; {
		list, err := next(t.Context())
		if list == nil || err != nil {
			return all, err
		}
		all = append(all, list...)
	}
}

// TestListsAreNewestFirst checks that lists are sorted correctly for GitHub and for Gitea, which sort
// differently. Only necessary pages may be requested.
func TestListsAreNewestFirst(t *testing.T) {
	for _, total := range []int{0, 1, 2, 49, 50, 51, 99, 100, 101, 250} {
		for _, gitea := range []bool{false, true} {
			s := artifactstest.New(t)
			s.Behavior.GiteaREST = gitea
			var newest int64
			for run := range total {
				s.Runs[int64(run)] = artifactstest.Run{HeadRepository: artifactstest.Repository}
				newest = s.Put(artifactstest.Artifact{Run: int64(run), Name: "one"})
				s.Put(artifactstest.Artifact{Run: int64(run), Name: "other"})
			}
			a := archiveOf(t, s)
			first, err := a.List("one")(t.Context())
			if requests := len(s.Requests()); err != nil || requests > 2 || !gitea && requests != 1 || total > 0 && first[0].ID != newest {
				t.Fatalf("%d artifacts, gitea %t: first page %v, %v with %d requests; want the newest first", total, gitea, first, err, requests)
			}
			list, err := listed(t, a, "one")
			assert.Check(t, err, "%d artifacts, gitea %t: %d listed, %v", total, gitea, len(list), err)
			assert.Check(t, is.Len(list, total), "%d artifacts, gitea %t: %d listed, %v", total, gitea, len(list), err)
			for i := range list {
				assert.Assert(t, is.Equal(list[i].ID, newest-2*int64(i)), "%d artifacts, gitea %t: place %d", total, gitea, i)
			}
		}
	}
}

// TestListsEndAfterThirtyPages checks that a list with more than thirty pages ends with an error.
func TestListsEndAfterThirtyPages(t *testing.T) {
	for total, cut := range map[int]bool{3000: false, 3001: true} {
		s := artifactstest.New(t)
		for run := range total {
			s.Put(artifactstest.Artifact{Run: int64(run), Name: "one"})
		}
		list, err := listed(t, archiveOf(t, s), "one")
		if errors.Is(err, artifacts.ErrTooManyPages) != cut || len(list) != 3000 || len(s.Requests()) != 30 {
			t.Errorf("%d artifacts: %d with %d requests, %v", total, len(list), len(s.Requests()), err)
		}
	}
}

// TestEmptyListIsNoError checks that each service returns an empty list if the workflow run has no artifacts.
func TestEmptyListIsNoError(t *testing.T) {
	for name, behave := range map[string]func(*artifactstest.Server){
		"github": func(*artifactstest.Server) {}, "gitea": (*artifactstest.Server).AsGitea, "act": (*artifactstest.Server).AsAct,
	} {
		s := artifactstest.New(t)
		behave(s)
		r := runtimeOf(t, s, func(o *artifacts.Options) {
			o.Act = name == "act"
			o.Retrier.Sleep = func(context.Context, time.Duration) error { return errors.New("unexpected wait") }
		})
		list, err := r.List(t.Context(), "one")
		assert.Check(t, err, name)
		assert.Check(t, is.Len(list, 0), name)
	}
}

// TestDroppedConnectionIsNotAnEmptyList checks that a dropped connection is an error, except under act. If
// it counted as an empty list, a run could overwrite artifacts that it can't see.
func TestDroppedConnectionIsNotAnEmptyList(t *testing.T) {
	s := artifactstest.New(t)
	s.Put(artifactstest.Artifact{Run: 7, Name: "one"})
	s.Fail(artifactstest.Fault{Op: "ListArtifacts", Times: 99})
	var failure *forge.Error
	if list, err := runtimeOf(t, s).List(t.Context(), "one"); !errors.As(err, &failure) || failure.Attempts != 5 {
		t.Errorf("List = %v, %v; want an error after five attempts", list, err)
	}
}
