//go:build linux

package action_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/action"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job/jobtest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agents"
)

// bareJob is one use of the action in a job, as the program sees it: the
// environment and the folders that a runner makes, without runner, node and processes.
type bareJob struct {
	t      testing.TB
	forge  *sitetest.Forge
	root   string
	work   string // GITHUB_WORKSPACE
	temp   string // RUNNER_TEMP
	run    int64  // the workflow run
	env    map[string]string
	inputs map[string]string
	// payload is what the event brings.
	payload string
	files   string // folder of the command files, for one of several steps

	agents   agents.Config   // that agent CLIs were given
	says     map[string]says // by the first word of the prompt
	programs []string        // that scripts may start besides git

	mu      sync.Mutex           // guards what follows
	prompts []runner.PromptOrder // that agents were given
	tools   []action.Tool        // commands of the program that the step has run
}

// inPrivate is a payload of the repository o/r when it is private.
const inPrivate = `"repository":{"id":4711,"full_name":"o/r","private":true,"default_branch":"main"}`

// inPublic is the same for one that anybody may read.
const inPublic = `"repository":{"id":4711,"full_name":"o/r","private":false,"default_branch":"main"}`

// newJob begins a job of a workflow run, with a checkout of its own. The workflow is
// the folder wf of the repository.
func newJob(t testing.TB, f *sitetest.Forge, repo string, run int64) *bareJob {
	t.Helper()
	root := t.TempDir()
	j := &bareJob{
		t: t, forge: f, root: root, run: run, payload: "{" + inPrivate + "}",
		work: filepath.Join(root, "work"), temp: filepath.Join(root, "temp"), inputs: map[string]string{"workflow": "wf", "cage": "off"},
	}
	if err := os.CopyFS(j.work, os.DirFS(repo)); err != nil {
		t.Fatal(err)
	}
	if !isRepository(j.work) {
		j.inputs["workspace"] = "none"
	}
	j.env = j.environ(run)
	if f != nil {
		f.ChangeRun(run, func(r *artifactstest.Run) {
			*r = artifactstest.Run{
				ID: run, Event: "workflow_dispatch", Status: "in_progress", Path: ".github/workflows/agent.yml",
				HeadBranch: "main", HeadRepository: artifactstest.Repository,
			}
		})
		j.inputs["github-token"] = artifactstest.APIToken
		j.env["GITHUB_API_URL"] = f.API.URL + "/api"
		j.env["ACTIONS_RESULTS_URL"], j.env["ACTIONS_RUNTIME_TOKEN"] = f.URL, artifactstest.Token(run)
	}
	return j
}

// tool runs another command of the program: it only notes which.
func (j *bareJob) tool(t action.Tool) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tools = append(j.tools, t)
	return 0
}

// commandFile is where the runner reads what a step says by a variable.
func (j *bareJob) commandFile(name string) string {
	return filepath.Join(j.temp, "_runner_file_commands", j.files, strings.ToLower(strings.TrimPrefix(name, "GITHUB_")))
}

func (j *bareJob) environ(run int64) map[string]string {
	env := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": filepath.Join(j.root, "home"), "LANG": "C.UTF-8", "CI": "true",
		"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "o/r", "GITHUB_REPOSITORY_ID": "4711", "GITHUB_EVENT_NAME": "workflow_dispatch",
		"GITHUB_WORKFLOW_REF": "o/r/.github/workflows/agent.yml@refs/heads/main", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main",
		"GITHUB_RUN_ID": strconv.FormatInt(run, 10), "GITHUB_RUN_ATTEMPT": "1", "GITHUB_JOB": "build", "GITHUB_ACTION": "__run",
		"GITHUB_WORKSPACE": j.work, "GITHUB_EVENT_PATH": filepath.Join(j.temp, "_github_workflow", "event.json"),
		"RUNNER_TEMP": j.temp, "RUNNER_OS": "Linux", "RUNNER_ENVIRONMENT": "self-hosted", "GITHUB_SHA": commitOf(j.t, j.work), "GITHUB_SERVER_URL": "https://example.test",
	}
	for _, name := range sitetest.RunnerFiles {
		env[name] = j.commandFile(name)
	}
	return env
}

// folder is one with the files of a txtar archive.
func folder(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	unpack(t, dir, archive)
	return dir
}

// unpack writes the files of a txtar archive into a folder.
func unpack(t testing.TB, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Data, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
}

func isRepository(dir string) bool { return sitetest.Exists(filepath.Join(dir, ".git")) }

// commitOf is the commit that a checkout is at.
func commitOf(t testing.TB, dir string) string {
	t.Helper()
	if !isRepository(dir) {
		return "0123456789abcdef0123456789abcdef01234567"
	}
	data, err := os.ReadFile(filepath.Join(dir, ".git", "refs", "heads", "main"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// with sets inputs: names and values in turn.
func (j *bareJob) with(pairs ...string) *bareJob {
	for i := 0; i < len(pairs); i += 2 {
		j.inputs[pairs[i]] = pairs[i+1]
	}
	return j
}

// set sets variables: names and values in turn.
func (j *bareJob) set(pairs ...string) *bareJob {
	for i := 0; i < len(pairs); i += 2 {
		j.env[pairs[i]] = pairs[i+1]
	}
	return j
}

// on makes another event the cause of the job.
func (j *bareJob) on(event, payload string) *bareJob {
	j.env["GITHUB_EVENT_NAME"], j.payload = event, payload
	return j
}

// start runs the step's main part.
func (j *bareJob) start() *running { return j.command("action") }

// prepare makes what a part of the step finds when it is started.
func (j *bareJob) prepare(part string) {
	j.t.Helper()
	j.write(j.env["GITHUB_EVENT_PATH"], j.payload)
	if part == "action-post" {
		j.passState()
	}
	for _, name := range sitetest.RunnerFiles {
		j.write(j.commandFile(name), "")
	}
	if err := os.MkdirAll(j.env["HOME"], 0o755); err != nil {
		j.t.Fatal(err)
	}
}

// environment is that of a part of the step.
func (j *bareJob) environment() []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(j.env)) {
		env = append(env, name+"="+j.env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(j.inputs)) {
		env = append(env, "INPUT_"+strings.ToUpper(name)+"="+j.inputs[name])
	}
	return env
}

// step is another use of the action in the same job.
func (j *bareJob) step(name string) *bareJob {
	other := &bareJob{
		t: j.t, forge: j.forge, root: j.root, work: j.work, temp: j.temp, run: j.run, env: maps.Clone(j.env), inputs: maps.Clone(j.inputs),
		payload: j.payload, files: name,
	}
	for _, file := range sitetest.RunnerFiles {
		other.env[file] = other.commandFile(file)
	}
	return other
}

// passState hands the post part what the main part has saved for it, as the runner
// does.
func (j *bareJob) passState() {
	j.t.Helper()
	if !sitetest.Exists(j.commandFile("GITHUB_STATE")) {
		return
	}
	for name, value := range jobtest.ReadOutputs(j.t, sitetest.Read(j.t, j.commandFile("GITHUB_STATE"))) {
		j.env["STATE_"+name] = value
	}
}

// partState is the name under which a main part keeps which one of its step it is.
const partState = "part"

// own is the folder of the step's last main part.
func (j *bareJob) own() string {
	j.passState()
	return filepath.Join(j.temp, "raymond", j.env["GITHUB_JOB"]+"-"+j.env["GITHUB_ACTION"]+"-"+j.env["STATE_"+partState])
}

// write writes a file, and makes the folders above it.
func (j *bareJob) write(path, text string) {
	j.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		j.t.Fatal(err)
	}
}
