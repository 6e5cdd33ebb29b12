package slots_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/slots"
)

// TestForksCannotHideCheckpoints checks that forks can't hide a checkpoint by storing hundreds of
// newer artifacts, and that notices name the first of these.
func TestForksCannotHideCheckpoints(t *testing.T) {
	behaving(t, func(s *scene) {
		s.addRun(1, nil)
		s.put(1, 3, nil)
		for id := range int64(250) {
			if s.Behavior.GiteaREST && id == 30 {
				break // one request for each
			}
			s.addRun(id+1000, func(r *artifactstest.Run) { r.Event, r.HeadRepository = "pull_request", 666 })
			s.put(id+1000, 3, nil)
		}
		found := s.expect("many forks", slots.Auto, 1, 3)
		if len(found.Notices) != 4 || !strings.Contains(found.Notices[0], "workflow run 1") || !strings.HasPrefix(found.Notices[3], "also skipped: artifacts of ") {
			s.t.Errorf("notices %q, want three and a count", found.Notices)
		}
	})
}

// toldAPI is an API that returns the same data for every request.
type toldAPI struct {
	slots.Archive
	stored artifacts.RunArtifact
	run    artifacts.RunInfo
}

func (a toldAPI) List(name string) artifacts.NextPage {
	a.stored.Name = name
	list := []artifacts.RunArtifact{a.stored}
	return func(context.Context) (page []artifacts.RunArtifact, err error) {
		if name == names[1] {
			page, list = list, nil
		}
		return page, nil
	}
}

func (toldAPI) ListRun(int64) artifacts.NextPage {
	return func(context.Context) ([]artifacts.RunArtifact, error) { return nil, nil }
}

func (a toldAPI) Run(context.Context, int64) (artifacts.RunInfo, error) { return a.run, nil }

func (a toldAPI) Download(context.Context, artifacts.RunArtifact, int64, *os.File) (int64, error) {
	return 0, errors.New("accepted")
}

// signs has the listing of an artifact, its workflow run and the query.
type signs struct {
	a *artifacts.RunArtifact
	r *artifacts.RunInfo
	q *slots.Query
}

// TestEachSignOfOriginIsChecked checks that each sign of the origin counts separately: in the
// listing and in the workflow run, and each id that Gitea provides.
func TestEachSignOfOriginIsChecked(t *testing.T) {
	const home = artifactstest.Repository
	for _, tt := range []struct {
		name  string
		edit  func(x *signs)
		hub   bool // accepted on GitHub
		gitea bool // accepted on Gitea
	}{
		{"all well", func(*signs) {}, true, true},
		{"listed of a fork", func(x *signs) { x.a.HeadRepository = 666 }, false, false},
		{"run of a fork", func(x *signs) { x.r.HeadRepository = 666 }, false, false},
		{"of another repository", func(x *signs) { x.a.Repository = 666 }, false, false},
		{"no run", func(x *signs) { x.a.RunID = 0 }, false, false},
		{"listing silent", func(x *signs) { x.a.HeadRepository, x.a.Repository = 0, 0 }, false, true},
		{"run silent", func(x *signs) { x.r.HeadRepository = 0 }, false, true},
		{"own id unknown", func(x *signs) { x.q.Origin.RepositoryID = 0 }, false, true},
		{"own id unknown, a fork", func(x *signs) { x.q.Origin.RepositoryID, x.a.HeadRepository = 0, 666 }, false, false},
		{"own id unknown, run of a fork", func(x *signs) { x.q.Origin.RepositoryID, x.r.HeadRepository = 0, 666 }, false, false},
		{"another branch", func(x *signs) { x.r.HeadBranch = "evil" }, false, false},
		{"listed of another branch", func(x *signs) { x.a.HeadBranch = "evil" }, false, false},
		{"no branches known", func(x *signs) { x.r.HeadBranch, x.q.Origin.Branch, x.q.Origin.DefaultBranch = "", "", "" }, false, false},
		{"silent about a pull request", func(x *signs) { x.r.HeadRepository, x.r.Event = 0, "pull_request" }, false, false},
		{"silent about a workflow_run", func(x *signs) { x.r.HeadRepository, x.r.Event = 0, "workflow_run" }, false, false},
		{"comment on a pull request", func(x *signs) { x.r.HeadRepository, x.r.Event = 0, "pull_request_comment" }, false, true}, // Gitea's name for the event
		{"own workflow_run", func(x *signs) { x.r.Event = "workflow_run" }, true, true},
		{"own pull request", func(x *signs) { x.r.Event = "pull_request_target" }, true, true},
		{"pull request of the default branch", func(x *signs) { x.r.Event, x.q.Origin.Branch = "pull_request", "feature" }, false, false},
		{"same name, other folder", func(x *signs) { x.r.Path = "elsewhere/ci.yml" }, false, true},
		{"bare name", func(x *signs) { x.r.Path = "ci.yml@refs/heads/main" }, true, true},
		{"own file unknown, and asked for", func(x *signs) { x.q.Origin.Workflow = "" }, true, true},
		{"on a schedule", func(x *signs) { x.r.Event = "schedule" }, true, true},
		{"of the default branch", func(x *signs) { x.q.Origin.Branch = "feature" }, true, true},
		{"of the own branch", func(x *signs) { x.r.Event, x.r.HeadBranch, x.q.Origin.Branch = "pull_request", "feature", "feature" }, true, true},
		{"of the head of the pull request", func(x *signs) { x.r.Event, x.r.HeadBranch, x.q.Origin.Head = "pull_request", "topic", "topic" }, true, true},
		{"in resume-from", func(x *signs) {
			x.r.Path, x.q.Origin.ResumeFrom = ".github/workflows/o.yml", []string{"x.yml", "o.yml"}
		}, true, true},
		{"in resume-from, by path", func(x *signs) {
			x.r.Path, x.q.Origin.ResumeFrom = ".github/workflows/o.yml", []string{"./.github/workflows/o.yml"}
		}, true, true},
		{"another workflow", func(x *signs) { x.r.Path = ".github/workflows/other.yml" }, false, false},
		{"file of like name", func(x *signs) { x.r.Path = ".github/workflows/ci.yml.evil/x.yml" }, false, false},
		{"fork's pull request, targeting", func(x *signs) { x.r.Event, x.r.HeadRepository = "pull_request_target", 666 }, false, false},
		{"own file unknown", func(x *signs) { x.r.Path, x.q.Origin.Workflow = "", "" }, false, false},
	} {
		for gitea, want := range map[bool]bool{false: tt.hub, true: tt.gitea} {
			a := toldAPI{stored: artifacts.RunArtifact{Artifact: artifacts.Artifact{ID: 1}, RunID: 1, HeadRepository: home, Repository: home},
				run: artifacts.RunInfo{ID: 1, Event: "push", Status: "completed", Path: ownFile, HeadBranch: "main", HeadRepository: home}}
			q := slots.Query{Mode: slots.Auto, Key: key, Job: slots.Job{RunID: 100}, Temp: t.TempDir(),
				Origin: slots.Origin{RepositoryID: home, Workflow: ownFile, Branch: "main", DefaultBranch: "main", Gitea: gitea}}
			tt.edit(&signs{&a.stored, &a.run, &q})
			found, err := (&slots.Finder{Archive: a}).Find(t.Context(), q)
			assert.Check(t, is.Equal(err != nil && strings.HasSuffix(err.Error(), "accepted"), want), "%s, gitea %t: found %+v, %v; want it accepted: %t", tt.name, gitea, found, err, want)
		}
	}
}
