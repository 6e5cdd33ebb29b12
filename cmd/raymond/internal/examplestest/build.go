package examplestest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// builds is the folder of what is built once for all tests of a process.
var builds string

// Main runs the tests of a package and removes what they have built. TestMain is
// to call it and exit with what it returns.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "examplestest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	builds = dir
	return m.Run()
}

// program builds a command of this repository, once a process.
type program struct {
	name, pkg string
	once      sync.Once
	err       error
}

var (
	raymond = &program{name: "raymond", pkg: "./cmd/raymond"}
	stub    = &program{name: "claude-stub", pkg: "./cmd/raymond/internal/stubclaude"}
)

// path returns where the built program is.
func (p *program) path(t testing.TB) string {
	t.Helper()
	path := filepath.Join(builds, p.name)
	p.once.Do(func() {
		cmd := exec.Command("go", "build", "-o", path, p.pkg)
		cmd.Dir = acttest.Root(t)
		if out, err := cmd.CombinedOutput(); err != nil {
			p.err = fmt.Errorf("go build %s: %w\n%s", p.pkg, err, out)
		}
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	return path
}

// lasting is a test whose temporary folder is that of all tests.
type lasting struct {
	testing.TB
	dir string
}

func (l lasting) TempDir() string { return l.dir }

var release sync.Mutex // guards the folder that releaseFolder makes

// releaseFolder returns the folder of the action as a release tag has it.
func releaseFolder(t testing.TB) string {
	t.Helper()
	release.Lock()
	defer release.Unlock()
	dir := filepath.Join(builds, "release")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	shipped := raymond.path(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return acttest.Release(lasting{t, dir}, shipped)
}
