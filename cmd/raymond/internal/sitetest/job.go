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

// Job simulates a job with a step that uses the action. It provides the environment and the folders that a
// runner would create. Tests start raymond in them directly, without a runner and without Node.
type Job struct {
	T      testing.TB
	Forge  *Forge // the fake GitHub; may be nil
	Root   string
	Work   string // GITHUB_WORKSPACE
	Temp   string // RUNNER_TEMP
	Run    int64  // the workflow run
	Env    map[string]string
	Inputs map[string]string
	// Payload is the event payload as JSON. By default, the event belongs to the private repository o/r.
	Payload string
	Site    *Site  // finds leftover processes and files of the job
	files   string // subfolder that contains the command files of this step; empty for the job's first step
}

// inPrivate is the payload of an event of the private repository o/r.
const inPrivate = `{"repository":{"id":4711,"full_name":"o/r","private":true,"default_branch":"main"}}`

// NewJob prepares a job of workflow run number run, with a copy of repo as its checkout and an empty
// home folder. The states are in the folder wf of the repository.
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

// CommitOf returns the commit of main in a checkout, or a made-up one if dir is no repository.
func CommitOf(t testing.TB, dir string) string {
	t.Helper()
	if !Exists(filepath.Join(dir, ".git")) {
		return "0123456789abcdef0123456789abcdef01234567"
	}
	return strings.TrimSpace(Read(t, filepath.Join(dir, ".git", "refs", "heads", "main")))
}

// Step returns another step of the same job, with its own command files.
func (j *Job) Step(name string) *Job {
	other := *j
	other.Env, other.Inputs, other.files = maps.Clone(j.Env), maps.Clone(j.Inputs), name
	for _, file := range RunnerFiles {
		other.Env[file] = other.CommandFile(file)
	}
	return &other
}

// CommandFile returns the path of the command file that a variable such as GITHUB_OUTPUT names.
func (j *Job) CommandFile(name string) string {
	return filepath.Join(j.Temp, "_runner_file_commands", j.files, strings.ToLower(strings.TrimPrefix(name, "GITHUB_")))
}

// Prepare creates the files that a runner provides for a phase of the step. part is "action" for the
// main phase or "action-post" for the post phase.
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

// Environ returns the environment of the step, which includes its inputs.
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

// passState passes the values that the main phase has saved to the post phase, as the runner does.
func (j *Job) passState() {
	j.T.Helper()
	if !Exists(j.CommandFile("GITHUB_STATE")) {
		return
	}
	for name, value := range ReadOutputs(j.T, Read(j.T, j.CommandFile("GITHUB_STATE"))) {
		j.Env["STATE_"+name] = value
	}
}

// PartState is the name under which a main phase saves its number for the post phase. The number counts the
// main phases of the steps with the same name in the job.
const PartState = "part"

// StepDir returns the step's own folder, which its last main phase has used.
func (j *Job) StepDir() string {
	j.passState()
	return filepath.Join(j.Temp, "raymond", j.Env["GITHUB_JOB"]+"-"+j.Env["GITHUB_ACTION"]+"-"+j.Env["STATE_"+PartState])
}
