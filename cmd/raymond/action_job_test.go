//go:build linux

package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/runner/checkpoint"
)

// forge is the stand-in for everything that a job asks: the results service, the
// REST API's artifacts and runs, and who may do what in the repository o/r.
type forge struct {
	*artifactstest.Server
	api    *httptest.Server
	levels map[string]string // permissions by login
	heads  map[int]int64     // repositories that pull requests come from
	talk   *talk             // the comments on issues and pull requests

	mu    sync.Mutex // guards what follows
	asked []string   // what the API was asked
}

func newForge(t testing.TB) *forge {
	f := &forge{
		Server: artifactstest.New(t), heads: map[int]int64{}, talk: newTalk(),
		levels: map[string]string{"ann": "write", "eve": "read", "root": "admin"},
	}
	f.api = httptest.NewServer(http.HandlerFunc(f.answer))
	t.Cleanup(f.api.Close)
	return f
}

// answer is the REST API.
func (f *forge) answer(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.URL.Path)
	f.mu.Unlock()
	rest := strings.TrimPrefix(r.URL.Path, "/api/repos/o/r/")
	login, isPermission := strings.CutPrefix(strings.TrimSuffix(rest, "/permission"), "collaborators/")
	number, isPull := strings.CutPrefix(rest, "pulls/")
	switch {
	case isPermission && f.levels[login] != "":
		fmt.Fprintf(w, `{"permission":%q}`, f.levels[login])
	case f.talk.answers(w, r):
	case isPull:
		n, _ := strconv.Atoi(number)
		fmt.Fprintf(w, `{"head":{"repo":{"id":%d}},"base":{"repo":{"id":%d}}}`, f.heads[n], artifactstest.Repository)
	default:
		f.Config.Handler.ServeHTTP(w, r)
	}
}

// questions are all requests that anybody was sent.
func (f *forge) questions() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(slices.Clone(f.asked), f.Requests()...)
}

// checkpoints are what is stored under the names of keys, the oldest first.
func (f *forge) checkpoints(t testing.TB, keys *checkpoint.Keys) []storedRun {
	t.Helper()
	var all []storedRun
	for _, a := range f.All() {
		path := filepath.Join(t.TempDir(), a.Name+".zip")
		if err := os.WriteFile(path, a.Content, 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, readStored(t, path, keys))
	}
	return all
}

// bareJob is one use of the action in a job, as its process sees it: the
// environment and the folders that a runner makes, without runner and node.
type bareJob struct {
	t      testing.TB
	forge  *forge
	root   string
	work   string // GITHUB_WORKSPACE
	temp   string // RUNNER_TEMP
	run    int64  // the workflow run
	bin    string
	stub   string // the agent CLI's stand-in
	env    map[string]string
	inputs map[string]string
	// payload is what the event brings.
	payload string
	as      *syscall.Credential // nil: who runs the test
	site    *site               // finds what is left of the job
}

// inPrivate is a payload of the repository o/r when it is private.
const inPrivate = `"repository":{"id":4711,"full_name":"o/r","private":true,"default_branch":"main"}`

// inPublic is the same for one that anybody may read.
const inPublic = `"repository":{"id":4711,"full_name":"o/r","private":false,"default_branch":"main"}`

// job begins a job of a workflow run, with a checkout of its own. The workflow is
// the folder wf of the repository.
func (f *forge) job(t testing.TB, repo string, run int64) *bareJob {
	t.Helper()
	root := t.TempDir()
	j := &bareJob{
		t: t, forge: f, root: root, run: run, bin: raymond.path(t), stub: stub.path(t), payload: "{" + inPrivate + "}",
		work: filepath.Join(root, "work"), temp: filepath.Join(root, "temp"), inputs: map[string]string{"workflow": "wf"},
	}
	if err := os.CopyFS(j.work, os.DirFS(repo)); err != nil {
		t.Fatal(err)
	}
	j.site = &site{t: t, work: root, mark: uuid.NewString()}
	t.Cleanup(j.site.leave)
	j.env = j.environ(run)
	if f != nil {
		f.Runs[run] = artifactstest.Run{
			ID: run, Event: "workflow_dispatch", Status: "in_progress", Path: ".github/workflows/agent.yml",
			HeadBranch: "main", HeadRepository: artifactstest.Repository,
		}
		j.inputs["github-token"] = artifactstest.APIToken
		j.env["GITHUB_API_URL"] = f.api.URL + "/api"
		j.env["ACTIONS_RESULTS_URL"], j.env["ACTIONS_RUNTIME_TOKEN"] = f.URL, artifactstest.Token(run)
	}
	return j
}

// commandFile is where the runner reads what a step says by a variable.
func (j *bareJob) commandFile(name string) string {
	return filepath.Join(j.temp, "_runner_file_commands", strings.ToLower(strings.TrimPrefix(name, "GITHUB_")))
}

var runnerFiles = []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"}

func (j *bareJob) environ(run int64) map[string]string {
	env := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": filepath.Join(j.root, "home"), "LANG": "C.UTF-8", "CI": "true",
		"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "o/r", "GITHUB_REPOSITORY_ID": "4711", "GITHUB_EVENT_NAME": "workflow_dispatch",
		"GITHUB_WORKFLOW_REF": "o/r/.github/workflows/agent.yml@refs/heads/main", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main",
		"GITHUB_RUN_ID": strconv.FormatInt(run, 10), "GITHUB_RUN_ATTEMPT": "1", "GITHUB_JOB": "build", "GITHUB_ACTION": "__run",
		"GITHUB_WORKSPACE": j.work, "GITHUB_EVENT_PATH": filepath.Join(j.temp, "_github_workflow", "event.json"),
		"RUNNER_TEMP": j.temp, "RUNNER_OS": "Linux", "RUNNER_ENVIRONMENT": "self-hosted", "RUNNER_TRACKING_ID": "github_" + j.site.mark,
		"GITHUB_SHA": commitOf(j.t, j.work), "GITHUB_SERVER_URL": "https://example.test",
		siteVar: j.site.mark, "GORACE": "atexit_sleep_ms=0 halt_on_error=1 exitcode=99",
	}
	for _, name := range runnerFiles {
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

// on makes another event the cause of the job.
func (j *bareJob) on(event, payload string) *bareJob {
	j.env["GITHUB_EVENT_NAME"], j.payload = event, payload
	return j
}

// start runs the step's main part.
func (j *bareJob) start() *command { return j.command("action") }

func (j *bareJob) command(part string) *command {
	j.t.Helper()
	j.site.write(j.env["GITHUB_EVENT_PATH"], j.payload)
	for _, name := range runnerFiles {
		j.site.write(j.commandFile(name), "")
	}
	if err := os.MkdirAll(j.env["HOME"], 0o755); err != nil {
		j.t.Fatal(err)
	}
	if j.as != nil {
		give(j.t, j.root, j.as)
	}
	c := &command{t: j.t, cmd: exec.Command(j.bin, part), done: make(chan struct{}), began: time.Now()}
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = j.work, &c.stdout, &c.stderr, time.Second
	for _, name := range slices.Sorted(maps.Keys(j.env)) {
		c.cmd.Env = append(c.cmd.Env, name+"="+j.env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(j.inputs)) {
		c.cmd.Env = append(c.cmd.Env, "INPUT_"+strings.ToUpper(name)+"="+j.inputs[name])
	}
	if j.env["RAYMOND_SHIM_STDIN"] != "" {
		j.hold(c)
	}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: j.as}
	if err := c.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait()
		c.took = time.Since(c.began)
		close(c.done)
	}()
	return c
}

// hold gives a command the stdin that the shim holds open.
func (j *bareJob) hold(c *command) {
	j.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		j.t.Fatal(err)
	}
	c.cmd.Stdin = r
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
	for _, p := range []*program{raymond, stub} {
		data, err := os.ReadFile(p.path(j.t))
		if err != nil {
			j.t.Fatal(err)
		}
		j.site.write(filepath.Join(copied, p.name), string(data))
		if err := os.Chmod(filepath.Join(copied, p.name), 0o755); err != nil {
			j.t.Fatal(err)
		}
	}
	j.bin, j.stub = filepath.Join(copied, raymond.name), filepath.Join(copied, stub.name)
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

// ended is what a step has left behind.
type ended struct {
	outcome         // its stdout is without the colours of the log
	painted  string // with them
	outputs  map[string]string
	commands []logCommand // that the runner carries out
	lines    []string     // of the log that are no commands
	summary  string
}

// logColours are the sequences by which the job log has colours.
var logColours = regexp.MustCompile("\x1b\\[(0|3[23]|90|1;3[123])m")

// do runs the step's main part, which must end with the given code, and then the
// workflow run is over.
func (j *bareJob) do(code int) ended {
	j.t.Helper()
	e := j.end(j.start())
	if e.code != code {
		j.t.Fatalf("step of workflow run %d, inputs %q: got %v\nwant exit code %d", j.run, j.inputs, e, code)
	}
	return e
}

func (j *bareJob) end(c *command) ended {
	j.t.Helper()
	e := ended{outcome: c.wait(), outputs: map[string]string{}}
	e.painted, e.stdout = e.stdout, logColours.ReplaceAllString(e.stdout, "")
	e.commands, e.lines = carriedOut(e.stdout)
	for name, value := range fileOutputs(j.t, j.read(j.commandFile("GITHUB_OUTPUT"))) {
		e.outputs[name] = value
	}
	e.summary = j.read(j.commandFile("GITHUB_STEP_SUMMARY"))
	if left := j.site.processes(); len(left) > 0 {
		j.t.Errorf("processes after the step: got %v, want none", describe(left))
	}
	if j.forge != nil {
		run := j.forge.Runs[j.run]
		run.Status = "completed"
		j.forge.Runs[j.run] = run
	}
	return e
}

func (j *bareJob) read(path string) string {
	j.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		j.t.Fatal(err)
	}
	return string(data)
}

// stateFiles are the files below the step's own folder.
func (j *bareJob) stateFiles() []string {
	var files []string
	_ = filepath.WalkDir(filepath.Join(j.temp, "raymond"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return nil // a folder that isn't there has none
	})
	return files
}

// String shows in a failure what a step has said, without the values it masks.
func (e ended) String() string {
	o := e.outcome
	o.stdout = withoutMasks(e)
	return o.String()
}

// texts are what the annotations of a level say, with their titles.
func (e ended) texts(level string) []string {
	var texts []string
	for _, c := range e.commands {
		if c.name == level {
			texts = append(texts, c.properties["title"]+": "+c.data)
		}
	}
	return texts
}

// says reports whether an annotation of a level has all of some texts.
func (e ended) says(level string, parts ...string) bool {
	return slices.ContainsFunc(e.texts(level), func(text string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	})
}

// wantOutputs checks some of the outputs.
func (e ended) wantOutputs(t testing.TB, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := e.outputs[pairs[i]]; got != pairs[i+1] {
			t.Errorf("output %s: got %q, want %q\n%v", pairs[i], got, pairs[i+1], e)
		}
	}
}

// wantSays checks that an annotation of a level has all of some texts.
func (e ended) wantSays(t testing.TB, level string, parts ...string) {
	t.Helper()
	if !e.says(level, parts...) {
		t.Errorf("annotations of level %s: got %q, want one with %q\n%v", level, e.texts(level), parts, e)
	}
}
