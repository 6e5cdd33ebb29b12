//go:build linux

package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job/jobtest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// bareJob is one use of the action in a job, as its process sees it: the
// environment and the folders that a runner makes, without runner and node.
type bareJob struct {
	t      testing.TB
	forge  *sitetest.Forge
	root   string
	work   string // GITHUB_WORKSPACE
	temp   string // RUNNER_TEMP
	run    int64  // the workflow run
	bin    string
	stub   string // the agent CLI's stand-in
	env    map[string]string
	inputs map[string]string
	as     *syscall.Credential // nil: who runs the test
	site   *sitetest.Site      // finds what is left of the job
}

// inPrivate is the payload of an event of the repository o/r, which is private.
const inPrivate = `{"repository":{"id":4711,"full_name":"o/r","private":true,"default_branch":"main"}}`

// newJob begins a job of a workflow run, with a checkout of its own. The workflow is
// the folder wf of the repository.
func newJob(t testing.TB, f *sitetest.Forge, repo string, run int64) *bareJob {
	t.Helper()
	root := t.TempDir()
	j := &bareJob{
		t: t, forge: f, root: root, run: run, bin: sitetest.Raymond.Path(t), stub: sitetest.Stub.Path(t),
		work: filepath.Join(root, "work"), temp: filepath.Join(root, "temp"), inputs: map[string]string{"workflow": "wf"},
	}
	if err := os.CopyFS(j.work, os.DirFS(repo)); err != nil {
		t.Fatal(err)
	}
	j.site = sitetest.Bare(t, root)
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

// commandFile is where the runner reads what a step says by a variable.
func (j *bareJob) commandFile(name string) string {
	return filepath.Join(j.temp, "_runner_file_commands", strings.ToLower(strings.TrimPrefix(name, "GITHUB_")))
}

func (j *bareJob) environ(run int64) map[string]string {
	env := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": filepath.Join(j.root, "home"), "LANG": "C.UTF-8", "CI": "true",
		"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "o/r", "GITHUB_REPOSITORY_ID": "4711", "GITHUB_EVENT_NAME": "workflow_dispatch",
		"GITHUB_WORKFLOW_REF": "o/r/.github/workflows/agent.yml@refs/heads/main", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main",
		"GITHUB_RUN_ID": strconv.FormatInt(run, 10), "GITHUB_RUN_ATTEMPT": "1", "GITHUB_JOB": "build", "GITHUB_ACTION": "__run",
		"GITHUB_WORKSPACE": j.work, "GITHUB_EVENT_PATH": filepath.Join(j.temp, "_github_workflow", "event.json"),
		"RUNNER_TEMP": j.temp, "RUNNER_OS": "Linux", "RUNNER_ENVIRONMENT": "self-hosted", "RUNNER_TRACKING_ID": "github_" + j.site.Mark,
		"GITHUB_SHA": commitOf(j.t, j.work), "GITHUB_SERVER_URL": "https://example.test",
		sitetest.SiteVar: j.site.Mark, "GORACE": "atexit_sleep_ms=0 halt_on_error=1 exitcode=99",
	}
	for _, name := range sitetest.RunnerFiles {
		env[name] = j.commandFile(name)
	}
	return env
}

// commitOf is the commit that a checkout is at.
func commitOf(t testing.TB, dir string) string {
	t.Helper()
	out, err := exec.Command("git", "-C", dir, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
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

// start runs the step's main part.
func (j *bareJob) start() *sitetest.Command { return j.command("action") }

// prepare makes what a part of the step finds when it is started.
func (j *bareJob) prepare(part string) {
	j.t.Helper()
	j.site.Write(j.env["GITHUB_EVENT_PATH"], inPrivate)
	if part == "action-post" {
		j.passState()
	}
	for _, name := range sitetest.RunnerFiles {
		j.site.Write(j.commandFile(name), "")
	}
	if err := os.MkdirAll(j.env["HOME"], 0o755); err != nil {
		j.t.Fatal(err)
	}
	if j.as != nil {
		give(j.t, j.root, j.as)
	}
}

// environment is that of a part of the step.
func (j *bareJob) environment() []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(j.env)) {
		env = append(env, name+"="+j.env[name])
	}
	inputs := maps.Clone(j.inputs)
	if _, given := inputs["cage-write"]; !given && inputs["cage"] != "off" {
		inputs["cage-write"] = strings.Join(j.notes(), "\n")
	}
	if _, given := inputs["cage-read"]; !given && inputs["cage"] != "off" {
		inputs["cage-read"] = sitetest.Builds // the agent CLI of the tests
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		env = append(env, "INPUT_"+strings.ToUpper(name)+"="+inputs[name])
	}
	return env
}

// notes are the folders outside of the checkout in which agents note what they do, for
// tests to read.
func (j *bareJob) notes() []string {
	folders := []string{filepath.Join(j.root, "notes")}
	for _, name := range []string{"EFFECTS", "SIDE_EFFECTS"} {
		if file := j.env[name]; file != "" {
			folders = append(folders, filepath.Dir(file))
		}
	}
	return folders
}

func (j *bareJob) command(part string) *sitetest.Command {
	j.t.Helper()
	j.prepare(part)
	cmd := exec.Command(j.bin, part)
	cmd.Dir, cmd.Env = j.work, j.environment()
	if j.env["RAYMOND_SHIM_STDIN"] != "" {
		j.hold(cmd)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: j.as}
	return sitetest.Begin(j.t, cmd)
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

// hold gives a command the stdin that the shim holds open.
func (j *bareJob) hold(cmd *exec.Cmd) {
	j.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		j.t.Fatal(err)
	}
	cmd.Stdin = r
	j.t.Cleanup(func() { r.Close(); w.Close() })
}

// visible puts the programs where any user can start them.
func (j *bareJob) visible() {
	j.t.Helper()
	for _, dir := range []string{filepath.Dir(j.root), j.root} {
		if err := os.Chmod(dir, 0o755); err != nil {
			j.t.Fatal(err)
		}
	}
	copied := filepath.Join(j.root, "bin")
	for _, p := range []*sitetest.Program{sitetest.Raymond, sitetest.Stub} {
		data, err := os.ReadFile(p.Path(j.t))
		if err != nil {
			j.t.Fatal(err)
		}
		j.site.Write(filepath.Join(copied, p.Name), string(data))
		if err := os.Chmod(filepath.Join(copied, p.Name), 0o755); err != nil {
			j.t.Fatal(err)
		}
	}
	j.bin, j.stub = filepath.Join(copied, sitetest.Raymond.Name), filepath.Join(copied, sitetest.Stub.Name)
}

// give makes a folder and all in it somebody's.
func give(t testing.TB, root string, to *syscall.Credential) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, int(to.Uid), int(to.Gid))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
