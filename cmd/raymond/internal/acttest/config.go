//go:build linux && world

package acttest

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// Config is one event and what it happens to.
type Config struct {
	Repo     string            // the repository, as Repository makes it
	Workflow string            // the workflow file in it, as in ".github/workflows/x.yml"
	Event    string            // "" for workflow_dispatch
	Payload  string            // the event's JSON; "" for none
	RunID    int64             // the workflow run's id; 0 for 1
	Env      map[string]string // for every step
	Secrets  map[string]string // GITHUB_TOKEN is one of them
	// Actions are the folders of the actions that the workflow uses by name: the
	// key is as in "acme/raymond-action@v1".
	Actions   map[string]string
	Artifacts string   // the folder of act's own artifact server
	Results   Results  // a stand-in for the results service instead
	Path      []string // folders that come first on PATH
}

// Results is a results service that speaks the protocol of GitHub's.
type Results struct {
	URL   string // "" for act's own
	Token string // a JSON web token whose scope names the run and the job
}

// labels are the values of runs-on that this machine stands in for.
var labels = []string{"ubuntu-latest", "ubuntu-24.04", "ubuntu-22.04", "self-hosted"}

// machine is the folder of everything that one run has on this machine.
type machine struct {
	t    testing.TB
	root string
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	root, err := os.MkdirTemp("", "acttest-") //nolint:usetesting // paths of sockets are bounded, and a test's name is long
	assert.NilError(t, err)
	m := &machine{t: t, root: root}
	t.Cleanup(m.remove)
	m.write("home/.config/act/actrc", "")
	return m
}

// path is a file of the machine that steps don't know of.
func (m *machine) path(name string) string { return filepath.Join(m.root, filepath.FromSlash(name)) }

func (m *machine) write(name, text string) string {
	m.t.Helper()
	assert.NilError(m.t, os.MkdirAll(filepath.Dir(m.path(name)), 0o700))
	assert.NilError(m.t, os.WriteFile(m.path(name), []byte(text), 0o600))
	return m.path(name)
}

// table writes names and values in a form that act reads: JSON is YAML. They
// are no arguments, so that no step finds secrets in the list of processes.
func (m *machine) table(name string, values map[string]string) string {
	m.t.Helper()
	if values == nil {
		values = map[string]string{}
	}
	data, err := json.Marshal(values)
	assert.NilError(m.t, err)
	return m.write(name, string(data))
}

// args are the arguments of act.
func (m *machine) args(c Config) []string {
	m.t.Helper()
	args := []string{
		cmp.Or(c.Event, "workflow_dispatch"), "--json", "--rm", "--use-gitignore=false", "--no-recurse",
		"--workflows", c.Workflow, "--action-offline-mode", "--no-cache-server", "--cache-server-addr", "127.0.0.1",
		"--artifact-server-path", c.Artifacts, "--artifact-server-addr", "127.0.0.1", "--artifact-server-port", freePort(m.t),
		"--env-file", m.table("env.yml", c.env()), "--secret-file", m.table("secrets.yml", c.Secrets),
		"--input-file", m.table("inputs.yml", nil), "--var-file", m.table("vars.yml", nil),
	}
	for _, label := range labels {
		args = append(args, "--platform", label+"=-self-hosted")
	}
	for name, dir := range c.Actions {
		args = append(args, "--local-repository", name+"="+dir)
	}
	if c.Payload != "" {
		args = append(args, "--eventpath", m.write("event.json", c.Payload))
	}
	return args
}

func (c Config) env() map[string]string {
	env := map[string]string{"GITHUB_RUN_ID": strconv.FormatInt(max(1, c.RunID), 10)}
	maps.Copy(env, c.Env)
	return env
}

// environ is the whole environment of act, all of which steps get.
func (m *machine) environ(c Config) []string {
	m.t.Helper()
	path := append(c.Path[:len(c.Path):len(c.Path)], filepath.Dir(installtest.Node(m.t)), "/usr/local/bin", "/usr/bin", "/bin")
	env := []string{
		"HOME=" + m.path("home"), "PATH=" + strings.Join(path, string(filepath.ListSeparator)), "LANG=C.UTF-8",
		markVar + "=" + m.root,
	}
	if c.Results.URL != "" {
		env = append(env, "ACTIONS_RUNTIME_URL="+strings.TrimSuffix(c.Results.URL, "/")+"/", "ACTIONS_RUNTIME_TOKEN="+c.Results.Token)
	}
	return env
}

// freePort returns a port that nobody listens on; act can't choose one itself. It is below
// those that the system gives to whoever asks for any, as other tests do until act listens.
func freePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(10_000 + rand.IntN(20_000))
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue // it is taken
		}
		assert.NilError(t, l.Close())
		return port
	}
	t.Fatal("no port is free")
	return ""
}
