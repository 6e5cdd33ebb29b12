//go:build linux && world

package acttest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
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

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m)) }

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
// is. Its agent CLI is the stub, which writes to $SIDE_EFFECTS when the step has
// the input env: SIDE_EFFECTS; the cage lets it.
func newConsumer(t testing.TB, archive string) *consumer {
	t.Helper()
	notes := t.TempDir()
	archive = steps.ReplaceAllString(archive, `${0}, cage-write: "`+notes+`"`)
	c := &consumer{t: t, Config: acttest.Config{
		Repo: acttest.Repository(t, archive), Workflow: workflowFile, Payload: privatePayload,
		Actions: map[string]string{actionName: acttest.Release(t, sitetest.Raymond.Path(t))}, Artifacts: t.TempDir(),
		Env: map[string]string{
			"SIDE_EFFECTS": filepath.Join(notes, "effects"), "KEEP": notes,
			// A race must not pass for an exit code of ours, nor cost a second at exit.
			"GORACE": "atexit_sleep_ms=0 halt_on_error=1 exitcode=99",
		},
	}}
	dir := t.TempDir()
	if err := os.Symlink(sitetest.Stub.Path(t), filepath.Join(dir, "claude")); err != nil {
		t.Fatal(err)
	}
	c.Path = []string{dir}
	return c
}

// start makes the event happen.
func (c *consumer) start() *acttest.Running {
	c.t.Helper()
	// Act's server breaks off at a run that has no folder yet, and fills its log.
	if err := os.MkdirAll(filepath.Join(c.Artifacts, "1"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	return acttest.Start(c.t, c.Config)
}

// stored reads the checkpoints that act's artifact server has of one run id, the
// newest first.
func (c *consumer) stored() []sitetest.StoredRun {
	c.t.Helper()
	var all []sitetest.StoredRun
	err := filepath.WalkDir(c.Artifacts, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".zip" && strings.HasPrefix(d.Name(), "raymond-") {
			content, err := os.ReadFile(path)
			if a := (artifactstest.Stored{Name: strings.TrimSuffix(d.Name(), ".zip"), Content: content}); sitetest.IsCheckpoint(a) {
				all = append(all, sitetest.ReadStored(c.t, a, nil))
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
