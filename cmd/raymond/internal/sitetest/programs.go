// Package sitetest is for tests of the whole program. It builds raymond once per test process and
// runs it on sites. A site simulates a machine for one test: it has a workflow, a home folder and a fake
// agent CLI.
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

// Main runs the tests of a package and then removes the programs that they have built. It is called
// by TestMain and returns the exit code.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "raymond-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	Builds = dir
	// These tests wait for processes more than they compute. A -parallel flag on the command line
	// takes precedence.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Program is a program that tests build and run.
type Program struct {
	Name  string
	build func() (string, error)
}

// newProgram returns a program that is built when Path is first called. The flag -race in the variable
// GOFLAGS is ignored; the parameter flags may contain -race instead.
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

// Path builds the program if necessary and returns its path.
func (p *Program) Path(t testing.TB) string {
	t.Helper()
	path, err := p.build()
	assert.NilError(t, err)
	return path
}

var (
	// Raymond is the program under test. It is built with the race detector if the tests are.
	Raymond = newProgram("raymond", mainPackage, racing...)
	// Stub is a fast fake agent CLI; see package stubclaude.
	Stub = newProgram("claude-stub", mainPackage+"/internal/stubclaude")
)

// mainPackage is the import path of raymond.
const mainPackage = "github.com/raymond-action/raymond-action/cmd/raymond"
