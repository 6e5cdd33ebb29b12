//go:build linux

package runnertest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

const (
	// workflowFile is the one workflow file of a consumer.
	workflowFile = ".github/workflows/w.yml"
	// actionName is how workflow files use the action.
	actionName = "acme/raymond-action@v1"
	// privatePayload is that of an event in a private repository: all of a run is
	// stored there without a state-key.
	privatePayload = `{"repository":{"id":4711,"full_name":"acme/consumer","private":true,"default_branch":"main"}}`
)

var release sync.Mutex // guards the folder that releaseFolder makes

// lasting is a test whose temporary folder is that of all tests.
type lasting struct {
	testing.TB
	dir string
}

func (l lasting) TempDir() string { return l.dir }

// releaseFolder returns the folder of the action as a release tag has it, which
// the first call makes for all tests.
func releaseFolder(t testing.TB) string {
	t.Helper()
	release.Lock()
	defer release.Unlock()
	dir := filepath.Join(sitetest.Builds, "release")
	if !sitetest.Exists(dir) {
		program := sitetest.Raymond.Path(t)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		acttest.Release(lasting{t, dir}, program)
	}
	return dir
}

// consumer is a repository that uses the action, and what its workflow runs
// have in common: artifacts, addresses and the agent CLI. Each run has a machine
// of its own.
type consumer struct {
	t testing.TB
	acttest.Config
}

// steps are the beginnings of the action's inputs.
var steps = regexp.MustCompile(`with: \{workflow: \w+`)

// newConsumer makes the repository from a txtar archive, in which workflowFile
// is. Its agent CLI is the stub, which writes to sideEffects when the step has
// the input env: SIDE_EFFECTS; the cage lets it.
func newConsumer(t testing.TB, archive string) *consumer {
	t.Helper()
	notes := t.TempDir()
	archive = steps.ReplaceAllString(archive, `${0}, cage-write: "`+notes+`"`)
	c := &consumer{t: t, Config: acttest.Config{
		Repo: acttest.Repository(t, archive), Workflow: workflowFile, Payload: privatePayload,
		Actions: map[string]string{actionName: releaseFolder(t)}, Artifacts: t.TempDir(),
		Env: map[string]string{
			"SIDE_EFFECTS": filepath.Join(notes, "effects"), "KEEP": notes,
			// A race must not pass for an exit code of ours, nor cost a second at exit.
			"GORACE": "atexit_sleep_ms=0 halt_on_error=1 exitcode=99",
		},
	}}
	c.agentCLI(sitetest.Stub.Path(t))
	return c
}

// agentCLI puts a program on PATH as claude.
func (c *consumer) agentCLI(program string) {
	c.t.Helper()
	dir := c.t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "claude")); err != nil {
		c.t.Fatal(err)
	}
	c.Path = []string{dir}
}

// real makes the agent CLI the real one, which talks to api. Steps need the input
// anthropic-api-key: dummy-key-123456, and the names of sitetest.CLIEnv in their input
// env, to keep the CLI off the network.
func (c *consumer) real(api *claudetest.Server) {
	c.t.Helper()
	c.agentCLI(claudetest.Install(c.t))
	maps.Copy(c.Env, sitetest.CLIVariables(api))
}

// sideEffects is the file to which stubs and scripts write what they do.
func (c *consumer) sideEffects() string { return c.Env["SIDE_EFFECTS"] }

// effects are the lines of that file.
func (c *consumer) effects() []string {
	c.t.Helper()
	data, err := os.ReadFile(c.sideEffects())
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[:strings.Count(string(data), "\n")]
}

// with returns a copy for another event; change may alter it.
func (c *consumer) with(change func(*acttest.Config)) acttest.Config {
	c.t.Helper()
	config := c.Config
	config.Env = map[string]string{}
	for name, value := range c.Env {
		config.Env[name] = value
	}
	if change != nil {
		change(&config)
	}
	// Act's server breaks off at a run that has no folder yet, and fills its log.
	if err := os.MkdirAll(filepath.Join(config.Artifacts, strconv.FormatInt(max(1, config.RunID), 10)), 0o755); err != nil {
		c.t.Fatal(err)
	}
	return config
}

// start makes the event happen; change, unless nil, may alter it before.
func (c *consumer) start(change func(*acttest.Config)) *acttest.Running {
	c.t.Helper()
	return acttest.Start(c.t, c.with(change))
}

// run is start that waits for the end, after which nothing may be left.
func (c *consumer) run(change func(*acttest.Config)) *acttest.Result {
	c.t.Helper()
	return c.wait(c.start(change))
}

// wait waits for the end of a run, after which nothing may be left.
func (c *consumer) wait(r *acttest.Running) *acttest.Result {
	c.t.Helper()
	res := r.Wait()
	if len(res.Left) > 0 {
		c.t.Errorf("processes after the end of the run: got %q, want none\n%s", res.Left, shown(res))
	}
	return res
}

// shown is what a failure shows of a run: what its steps wrote, without the secrets
// that they named.
func shown(r *acttest.Result) string {
	var b strings.Builder
	for line := range strings.Lines(r.String()) {
		if strings.HasPrefix(line, "--- act") && len(r.Steps) > 0 {
			break
		}
		if !strings.HasPrefix(line, "::add-mask::") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// wantStep checks the result of a step's main part, "success" or "failure", and
// the given outputs, and returns the step.
func wantStep(t testing.TB, r *acttest.Result, job, id, result string, outputs map[string]string) *acttest.Step {
	t.Helper()
	s := r.Step(job, id)
	if s == nil || s.Result != result {
		t.Fatalf("job %s, step %s: got %s\nwant %s", job, id, shown(r), result)
	}
	got := map[string]string{}
	for name := range outputs {
		got[name] = s.Outputs[name]
	}
	if diff := cmp.Diff(outputs, got); diff != "" {
		t.Errorf("job %s, step %s: outputs (-want +got):\n%s\n%s", job, id, diff, shown(r))
	}
	return s
}

// keepState is a step that keeps the files of a job's runs after its end, when
// act removes them.
const keepState = "      - {if: always(), run: 'cp -R \"$RUNNER_TEMP/raymond\" \"$KEEP/$GITHUB_JOB\"'}\n"

// kept returns the one file of a job that keepState has kept and that a pattern,
// relative to its state folder, fits.
func (c *consumer) kept(job, pattern string) string {
	c.t.Helper()
	found, err := filepath.Glob(filepath.Join(c.Env["KEEP"], job, pattern))
	if err != nil || len(found) != 1 {
		c.t.Fatalf("files of job %s at %s: got %q (%v), want one", job, pattern, found, err)
	}
	return found[0]
}

// keptEvents is the event log of a job's one run.
func (c *consumer) keptEvents(job string) []state.Event {
	c.t.Helper()
	return sitetest.EventsIn(c.t, c.kept(job, "*/*/events.jsonl"))
}

// stored reads the checkpoints that act's artifact server has of one run id, the
// newest first.
func (c *consumer) stored(keys *checkpoint.Keys) []sitetest.StoredRun {
	c.t.Helper()
	var all []sitetest.StoredRun
	err := filepath.WalkDir(c.Artifacts, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".zip" && strings.HasPrefix(d.Name(), "raymond-") {
			content, err := os.ReadFile(path)
			if a := (artifactstest.Stored{Name: strings.TrimSuffix(d.Name(), ".zip"), Content: content}); sitetest.IsCheckpoint(a) {
				all = append(all, sitetest.ReadStored(c.t, a, keys))
			}
			return err
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b sitetest.StoredRun) int { return b.Manifest.Generation - a.Manifest.Generation })
	return all
}
