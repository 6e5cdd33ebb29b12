package slots_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

const ownFile = ".github/workflows/ci.yml"

// scene is a repository with workflow runs and their artifacts.
type scene struct {
	t *testing.T
	*artifactstest.Server
}

func newScene(t *testing.T) *scene {
	s := &scene{t, artifactstest.New(t)}
	s.addRun(100, nil)
	return s
}

// addRun adds a completed run of the own workflow on main, changed by edit.
func (s *scene) addRun(id int64, edit func(*artifactstest.Run)) {
	run := artifactstest.Run{ID: id, Event: "issues", Status: "completed", Path: ownFile, HeadBranch: "main",
		HeadRepository: artifactstest.Repository}
	if edit != nil {
		edit(&run)
	}
	s.Runs[id] = run
}

// put stores a checkpoint of a workflow run in the slot of its generation.
func (s *scene) put(run int64, generation int, edit func(*checkpoint.Manifest)) int64 {
	s.t.Helper()
	return s.putAt(slots.Place{Key: key}, run, generation, edit)
}

func (s *scene) putAt(at slots.Place, run int64, generation int, edit func(*checkpoint.Manifest)) int64 {
	s.t.Helper()
	m := checkpoint.Manifest{RepositoryID: artifactstest.Repository, Key: key, WorkflowID: key + "-00000001", RunID: run,
		Generation: generation, Status: state.Suspended, Created: time.Unix(int64(1000*run)+int64(generation), 0)}
	if edit != nil {
		edit(&m)
	}
	data, err := json.Marshal(m)
	assert.NilError(s.t, err)
	return s.Put(artifactstest.Artifact{Run: run, Name: at.Names()[generation%3], Content: data})
}

// finder returns a Finder for a job of workflow run 100.
func (s *scene) finder() *slots.Finder {
	s.t.Helper()
	return &slots.Finder{Service: runtimeOf(s.t, s.Server, 100), Archive: s.archive(false)}
}

// archive returns the API of the scene, with or without act.
func (s *scene) archive(act bool) *artifacts.Archive {
	s.t.Helper()
	c, err := forge.New(forge.Options{URL: s.URL + "/api", Token: artifactstest.APIToken, Repository: "o/r", Act: act, Retrier: forge.Retrier{Sleep: noWait}})
	assert.NilError(s.t, err)
	return artifacts.NewArchive(c, nil)
}

func (s *scene) query(mode string) slots.Query {
	return slots.Query{Mode: mode, Key: key, Job: slots.Job{RunID: 100},
		Origin:  slots.Origin{RepositoryID: artifactstest.Repository, Workflow: ownFile, Branch: "main", DefaultBranch: "main", Gitea: s.Behavior.GiteaREST},
		SameIDs: s.Behavior.SameIDs, Temp: s.t.TempDir(), Read: readJSON}
}

// readJSON replaces checkpoint.Read: a checkpoint is only a manifest.
func readJSON(f *os.File, size int64, dir string) (checkpoint.Manifest, string, error) {
	var m checkpoint.Manifest
	data, err := io.ReadAll(io.NewSectionReader(f, 0, size))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "state.json"), data, 0o600)
	}
	if err != nil || json.Unmarshal(data, &m) != nil {
		return m, "", errors.Join(err, &checkpoint.Invalid{What: "is no manifest"})
	}
	return m, fmt.Sprintf("sha256:%d-%d", m.RunID, m.Generation), nil
}

func (s *scene) find(q slots.Query) (*slots.Found, error) { return s.finder().Find(s.t.Context(), q) }

// expect looks for a checkpoint in the given mode and checks which one it is; run 0 means none.
func (s *scene) expect(what, mode string, run int64, generation int) *slots.Found {
	s.t.Helper()
	q := s.query(mode)
	found, err := s.find(q)
	if err != nil {
		s.t.Errorf("%s: %v", what, err)
		return &slots.Found{}
	}
	left, _ := os.ReadDir(q.Temp)
	if run == 0 {
		if found.Manifest != nil || len(left) != 0 {
			s.t.Errorf("%s: found %+v, left %v; want nothing", what, found.Manifest, left)
		}
		return found
	}
	if found.Manifest == nil || found.RunID != run || found.Manifest.Generation != generation || len(left) != 1 ||
		found.Dir != filepath.Join(q.Temp, left[0].Name()) || found.InThisRun != (run == 100) {
		s.t.Errorf("%s: found %+v, left %v; want generation %d of run %d in a folder of its own", what, found, left, generation, run)
		return &slots.Found{}
	}
	_, err = os.Stat(filepath.Join(found.Dir, "state.json"))
	assert.Check(s.t, err, "%s: %v", what, err)
	return found
}

// behaving runs a test for each service that has a REST API.
func behaving(t *testing.T, test func(s *scene)) {
	for _, manner := range []string{"github", "gitea"} {
		t.Run(manner, func(t *testing.T) {
			s := newScene(t)
			manners[manner](s.Server)
			test(s)
		})
	}
}

func isConflict(err error) bool {
	_, is := errors.AsType[*slots.Conflict](err)
	return is
}
