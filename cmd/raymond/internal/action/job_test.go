//go:build linux

package action_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/action"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
)

// bareJob is a job whose step runs in the process of the test.
type bareJob struct {
	*sitetest.Job

	memory  *store.Memory   // stores the runs; nil for the results service
	agents  clis.Config     // the configuration of the agent CLIs
	says    map[string]says // by the first word of the prompt
	late    *running        // a main phase that got no signal
	isOften bool            // checkpoints are stored each second instead of each minute

	mu      sync.Mutex           // guards the fields below
	prompts []runner.PromptOrder // the prompts of the agents
	tools   []action.Tool        // commands of the program that the step has run
}

// inPrivate is the payload part for the repository o/r if it is private.
const inPrivate = `"repository":{"id":4711,"full_name":"o/r","private":true,"default_branch":"main"}`

// inPublic is the payload part for the repository if it is public.
const inPublic = `"repository":{"id":4711,"full_name":"o/r","private":false,"default_branch":"main"}`

// newJob returns a job without a cage. Outside of a git repository, the work in the workspace is
// not stored.
func newJob(t testing.TB, f *sitetest.Forge, repo string, run int64) *bareJob {
	t.Helper()
	j := &bareJob{Job: sitetest.NewJob(t, f, repo, run)}
	if j.Inputs["cage"] = "off"; !sitetest.Exists(filepath.Join(j.Work, ".git")) {
		j.Inputs["workspace"] = "none"
	}
	return j
}

// tool records a command of the program instead of running it.
func (j *bareJob) tool(t action.Tool) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tools = append(j.tools, t)
	return 0
}

// folder returns a directory with the files of a txtar archive.
func folder(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	unpack(t, dir, archive)
	return dir
}

// unpack writes the files of a txtar archive into a directory.
func unpack(t testing.TB, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		assert.NilError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Data, 0o755)))
	}
}

// with sets inputs, given as alternating names and values.
func (j *bareJob) with(pairs ...string) *bareJob {
	for i := 0; i < len(pairs); i += 2 {
		j.Inputs[pairs[i]] = pairs[i+1]
	}
	return j
}

// set sets environment variables, given as alternating names and values.
func (j *bareJob) set(pairs ...string) *bareJob {
	for i := 0; i < len(pairs); i += 2 {
		j.Env[pairs[i]] = pairs[i+1]
	}
	return j
}

// on sets the event that starts the job.
func (j *bareJob) on(event, payload string) *bareJob {
	j.Env["GITHUB_EVENT_NAME"], j.Payload = event, payload
	return j
}

// public makes the repository of the job public.
func (j *bareJob) public() *bareJob {
	j.Payload = strings.Replace(j.Payload, inPrivate, inPublic, 1)
	return j
}

// often makes the job store a checkpoint each second.
func (j *bareJob) often() *bareJob {
	j.isOften = true
	return j
}

// start starts the main phase of the step.
func (j *bareJob) start() *running { return j.command("action") }

// step returns another step of the same job that uses the action.
func (j *bareJob) step(name string) *bareJob { return &bareJob{Job: j.Step(name), memory: j.memory} }

// scene is a repository with its forge. Its scripts write their effects to a file.
type scene struct {
	t       *testing.T
	memory  *store.Memory // stores the runs; nil for the results service of the forge
	forge   *sitetest.Forge
	repo    string
	effects string
}

// newScene returns a scene with files in a plain directory, so that no step starts git. Runs are
// stored in memory, and its steps can't be killed.
func newScene(t *testing.T, archive string) *scene {
	t.Helper()
	return &scene{t, &store.Memory{}, sitetest.NewForge(t), folder(t, archive), filepath.Join(t.TempDir(), "effects")}
}

// newForgeScene returns a scene like newScene whose runs are stored as artifacts.
func newForgeScene(t *testing.T, archive string) *scene {
	t.Helper()
	s := newScene(t, archive)
	s.memory = nil
	return s
}

// newGitScene returns a scene like newScene with files in a git repository, so that its steps store
// the work in the workspace.
func newGitScene(t *testing.T, archive string) *scene {
	t.Helper()
	s := newScene(t, "")
	s.repo = sitetest.Repository(t, archive)
	return s
}

// job returns the job of another workflow run, on another machine.
func (s *scene) job(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	j := newJob(s.t, s.forge, s.repo, run)
	j.memory = s.memory
	return j.set("EFFECTS", s.effects, "SIDE_EFFECTS", s.effects, "GITHUB_GRAPHQL_URL", s.forge.API.URL+"/api/graphql").
		with("env", "EFFECTS SIDE_EFFECTS").with(inputs...)
}

// onIssue returns a job that issue 7 has started.
func (s *scene) onIssue(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return s.job(run, inputs...).on("issues", event(person("ann"), `"action":"labeled"`, `"issue":{"number":7,"title":"A title"}`))
}

// newest returns the newest checkpoint of a key.
func (s *scene) newest(key string) sitetest.StoredRun {
	s.t.Helper()
	if s.memory != nil {
		l, err := s.memory.Open(store.Config{Dir: s.t.TempDir()}).Look(s.t.Context(), store.Query{Key: key, Mode: slots.Require})
		assert.NilError(s.t, err)
		assert.Assert(s.t, l.Run != nil, "checkpoints of %s: got none", key)
		return sitetest.StoredRun{Name: l.Artifact.Name, Manifest: *l.Manifest, Digest: l.Digest, Dir: l.Dir, Run: l.Run}
	}
	all := s.forge.Checkpoints(s.t, nil)
	all = slices.DeleteFunc(all, func(c sitetest.StoredRun) bool { return c.Manifest.Key != key })
	assert.Assert(s.t, len(all) > 0, "checkpoints of %s: got none", key)
	return all[len(all)-1]
}

// stored returns the artifacts whose names contain a word.
func (s *scene) stored(word string) []artifactstest.Artifact {
	return slices.DeleteFunc(s.forge.All(), func(a artifactstest.Artifact) bool { return !strings.Contains(a.Name, word) })
}

// stops runs a first workflow run, which stops after n states and is stored.
func (s *scene) stops(run int64, n int, inputs ...string) stepEnd {
	s.t.Helper()
	e := s.job(run, append(inputs, "max-iterations", strconv.Itoa(n))...).do(problem.ExitCodes[problem.ClassOverLimit])
	e.WantOutputs(s.t, "status", "over_iterations", "resumable", "true")
	return e
}

// done returns the effects of the states that have run.
func (s *scene) done() string {
	s.t.Helper()
	data, err := os.ReadFile(s.effects)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(data)), " ")
}

func (s *scene) wantDone(want string) {
	s.t.Helper()
	assert.Check(s.t, is.Equal(s.done(), want), "states that ran")
}

// stepEnd is the outcome of a step.
type stepEnd = sitetest.StepEnd

// do runs the main phase of the step, which must end with the given code, and completes the
// workflow run.
func (j *bareJob) do(code int) stepEnd {
	j.T.Helper()
	e := j.end(j.start())
	assert.Equal(j.T, e.Code, code, "step of workflow run %d, inputs %q: got %v\nwant exit code %d", j.Run, j.Inputs, e, code)
	return e
}

func (j *bareJob) end(c *running) stepEnd {
	j.T.Helper()
	e := sitetest.ReadStepEnd(j.T, c.Wait(), j.CommandFile)
	if j.Forge != nil {
		j.Forge.ChangeRun(j.Run, func(run *artifactstest.Run) { run.Status = "completed" })
	}
	return e
}

// stateFiles returns the files in the directories of the job's steps.
func (j *bareJob) stateFiles() []string {
	var files []string
	_ = filepath.WalkDir(filepath.Join(j.Temp, "raymond"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 { // an empty integrity log doesn't count
			files = append(files, path)
		}
		return nil // a missing directory has no files
	})
	return files
}
