// Package sitetest is for tests of the whole program: it builds raymond once per test
// process, and runs it on sites, each of which is one test's machine with a workflow,
// a home folder and an agent CLI of its own.
package sitetest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
)

// Builds is the folder of the programs that the tests build, each at most once.
var Builds string

// Main runs the tests of a package, for its TestMain, and removes what they
// have built. It returns the exit code.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "raymond-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	Builds = dir
	// These tests wait for processes more than they compute. A -parallel on the
	// command line wins.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Program is something that the tests build and run.
type Program struct {
	Name  string
	build func() (string, error)
}

// newProgram is a program that is built when the first test wants it. A -race in GOFLAGS is
// for the tests; the program looks for races when its own flags say so.
func newProgram(name, pkg string, flags ...string) *Program {
	return &Program{Name: name, build: sync.OnceValues(func() (string, error) {
		path := filepath.Join(Builds, name)
		cmd := exec.Command("go", slices.Concat([]string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", path}, flags, []string{pkg})...)
		cmd.Env = append(os.Environ(), "GOFLAGS="+strings.ReplaceAll(os.Getenv("GOFLAGS"), "-race", ""))
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
		return path, nil
	})}
}

// Path returns where the built program is.
func (p *Program) Path(t testing.TB) string {
	t.Helper()
	path, err := p.build()
	assert.NilError(t, err)
	return path
}

var (
	// Raymond is the program, which looks for races when its tests do.
	Raymond = newProgram("raymond", mainPackage, racing...)
	// Stub is a fast stand-in for the agent CLI; its folder says what it does.
	Stub = newProgram("claude-stub", mainPackage+"/internal/stubclaude")
)

// mainPackage is the program.
const mainPackage = "github.com/raymond-action/raymond-action/cmd/raymond"
