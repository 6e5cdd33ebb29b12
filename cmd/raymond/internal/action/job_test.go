//go:build linux

package action_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/action"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
)

// bareJob is a job whose step runs in the process of the test.
type bareJob struct {
	*sitetest.Job

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

// often makes the job store a checkpoint each second.
func (j *bareJob) often() *bareJob {
	j.isOften = true
	return j
}

// start starts the main phase of the step.
func (j *bareJob) start() *running { return j.command("action") }

// step returns another step of the same job that uses the action.
func (j *bareJob) step(name string) *bareJob { return &bareJob{Job: j.Step(name)} }
