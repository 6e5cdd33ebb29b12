package sitetest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
)

// Job is one use of the action in a job, as its process sees it: the environment and the folders
// that a runner makes, without runner and node.
type Job struct {
	T      testing.TB
	Forge  *Forge // nil for none
	Root   string
	Work   string // GITHUB_WORKSPACE
	Temp   string // RUNNER_TEMP
	Run    int64  // the workflow run
	Env    map[string]string
	Inputs map[string]string
	// Payload is what the event brings; at first that of one of the repository o/r, which is private.
	Payload string
	Site    *Site  // finds what is left of the job
	files   string // folder of the command files, of one of several steps
}

// inPrivate is the payload of an event of the repository o/r, which is private.
const inPrivate = `{"repository":{"id":4711,"full_name":"o/r","private":true,"default_branch":"main"}}`

// NewJob begins a job of a workflow run, with a checkout of its own and a new home folder. The
// workflow is the folder wf of the repository.
func NewJob(t testing.TB, f *Forge, repo string, run int64) *Job {
	t.Helper()
	root := t.TempDir()
	j := &Job{
		T: t, Forge: f, Root: root, Run: run, Site: Bare(t, root),
		Work: filepath.Join(root, "work"), Temp: filepath.Join(root, "temp"), Inputs: map[string]string{"workflow": "wf"}, Payload: inPrivate,
	}
	assert.NilError(t, os.CopyFS(j.Work, os.DirFS(repo)))
	j.Env = map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": filepath.Join(root, "home"), "LANG": "C.UTF-8", "CI": "true",
		"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "o/r", "GITHUB_REPOSITORY_ID": "4711", "GITHUB_EVENT_NAME": "workflow_dispatch",
		"GITHUB_WORKFLOW_REF": "o/r/.github/workflows/agent.yml@refs/heads/main", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main",
		"GITHUB_RUN_ID": strconv.FormatInt(run, 10), "GITHUB_RUN_ATTEMPT": "1", "GITHUB_JOB": "build", "GITHUB_ACTION": "__run",
		"GITHUB_WORKSPACE": j.Work, "GITHUB_EVENT_PATH": filepath.Join(j.Temp, "_github_workflow", "event.json"),
		"RUNNER_TEMP": j.Temp, "RUNNER_OS": "Linux", "RUNNER_ENVIRONMENT": "self-hosted", "RUNNER_TRACKING_ID": "github_" + j.Site.Mark,
		"GITHUB_SHA": CommitOf(t, j.Work), "GITHUB_SERVER_URL": "https://example.test",
		SiteVar: j.Site.Mark, "GORACE": "atexit_sleep_ms=0 halt_on_error=1 exitcode=99",
	}
	for _, name := range RunnerFiles {
		j.Env[name] = j.CommandFile(name)
	}
	if f != nil {
		f.ChangeRun(run, func(r *artifactstest.Run) {
			*r = artifactstest.Run{
				ID: run, Event: "workflow_dispatch", Status: "in_progress", Path: ".github/workflows/agent.yml",
				HeadBranch: "main", HeadRepository: artifactstest.Repository,
			}
		})
		j.Inputs["github-token"] = artifactstest.APIToken
		j.Env["GITHUB_API_URL"] = f.API.URL + "/api"
		j.Env["ACTIONS_RESULTS_URL"], j.Env["ACTIONS_RUNTIME_TOKEN"] = f.URL, artifactstest.Token(run)
	}
	return j
}

// CommitOf is the commit that a checkout of main is at, or some commit for a folder that is none.
func CommitOf(t testing.TB, dir string) string {
	t.Helper()
	if !Exists(filepath.Join(dir, ".git")) {
		return "0123456789abcdef0123456789abcdef01234567"
	}
	return strings.TrimSpace(Read(t, filepath.Join(dir, ".git", "refs", "heads", "main")))
}

// Step is another use of the action in the same job.
func (j *Job) Step(name string) *Job {
	other := *j
	other.Env, other.Inputs, other.files = maps.Clone(j.Env), maps.Clone(j.Inputs), name
	for _, file := range RunnerFiles {
		other.Env[file] = other.CommandFile(file)
	}
	return &other
}

// CommandFile is where the runner reads what a step says by a variable.
func (j *Job) CommandFile(name string) string {
	return filepath.Join(j.Temp, "_runner_file_commands", j.files, strings.ToLower(strings.TrimPrefix(name, "GITHUB_")))
}

// Prepare makes what a part of the step, "action" or "action-post", finds when it is started.
func (j *Job) Prepare(part string) {
	j.T.Helper()
	j.Site.Write(j.Env["GITHUB_EVENT_PATH"], j.Payload)
	if part == "action-post" {
		j.passState()
	}
	for _, name := range RunnerFiles {
		j.Site.Write(j.CommandFile(name), "")
	}
	assert.NilError(j.T, os.MkdirAll(j.Env["HOME"], 0o755))
}

// Environ is the environment of a part of the step.
func (j *Job) Environ() []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(j.Env)) {
		env = append(env, name+"="+j.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(j.Inputs)) {
		env = append(env, "INPUT_"+strings.ToUpper(name)+"="+j.Inputs[name])
	}
	return env
}

// passState hands the post part what the main part has saved for it, as the runner
// does.
func (j *Job) passState() {
	j.T.Helper()
	if !Exists(j.CommandFile("GITHUB_STATE")) {
		return
	}
	for name, value := range ReadOutputs(j.T, Read(j.T, j.CommandFile("GITHUB_STATE"))) {
		j.Env["STATE_"+name] = value
	}
}

// PartState is the name under which a main part keeps which one of its step it is.
const PartState = "part"

// Own is the folder of the step's last main part.
func (j *Job) Own() string {
	j.passState()
	return filepath.Join(j.Temp, "raymond", j.Env["GITHUB_JOB"]+"-"+j.Env["GITHUB_ACTION"]+"-"+j.Env["STATE_"+PartState])
}
