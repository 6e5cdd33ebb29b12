//go:build world

package shim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

var phases = map[string]string{"main.js": "action", "post.js": "action-post"}

// TestNoNodeProcessStays checks which process the program runs in. With a node that has execve, it is the
// process that the runner started. Otherwise, it is a child of that process. The test also checks that the
// program gets the step's environment.
func TestNoNodeProcessStays(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		a := newAction(t)
		a.ship()
		a.env["INPUT_WORKFLOW"] = "a b\nc"
		// These values come from an earlier step. They must not make the program wait for a pipe that
		// doesn't exist.
		a.env["RAYMOND_SHIM_STDIN"], a.env["RAYMOND_SHIM"] = "1", "/planted"
		for script, s := range a.both(n) {
			r := s.report
			assert.Check(t, is.DeepEqual(r.Args, []string{a.shipped(), phases[script]}), script)
			if is, of := r.PID == s.cmd.Process.Pid, r.Parent == s.cmd.Process.Pid; is != n.becomes || of == n.becomes {
				t.Errorf("%s: program is the shim's process: %t, its child: %t, want the first: %t", script, is, of, n.becomes)
			}
			for _, name := range []string{"INPUT_WORKFLOW", "ACTIONS_RUNTIME_TOKEN", "PATH", "HOME"} {
				assert.Check(t, is.Equal(r.Env[name], a.env[name]), "%s: %s", script, name)
			}
			assert.Check(t, is.Equal(r.Env["RAYMOND_SHIM"], a.path("cmd/shim")), "%s: RAYMOND_SHIM: want the folder of the JavaScript, whatever a step has set", script)
			if got, ok := r.Env["RAYMOND_SHIM_STDIN"]; ok == n.becomes || ok && got != "1" {
				t.Errorf("%s: RAYMOND_SHIM_STDIN: got %q (set: %t), want it set to 1: %t", script, got, ok, !n.becomes)
			}
		}
	})
}

// TestNodeKeepsNoSecretsInItsEnvironment checks that node clears its initial environment if it keeps
// running, because agents can read it on Linux, in /proc.
func TestNodeKeepsNoSecretsInItsEnvironment(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		a := newAction(t)
		a.ship()
		a.env["ACTIONS_RUNTIME_TOKEN"], a.env[actVar] = "the-token-of-the-job", "wait"
		s := a.start(n, "main.js")
		began := time.Now()
		for gone := n.becomes || runtime.GOOS != "linux"; !gone; { // node may clear its environment after the program has started
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.cmd.Process.Pid))
			if err != nil || time.Since(began) > 5*time.Minute {
				t.Errorf("environment of node: got %q, %v, want nothing of the job's in it", data, err)
				break
			}
			gone = !strings.Contains(string(data), "the-token-of-the-job")
		}
		assert.NilError(t, s.cmd.Process.Signal(syscall.SIGTERM))
		if s.wait(); s.status() != waited {
			t.Errorf("got status %d, want %d", s.status(), waited)
		}
	})
}

// TestExitCodeIsTheProgramsOwn checks that the exit code of the program becomes the exit code of the
// step. It also checks that the shim forwards signals to the program.
func TestExitCodeIsTheProgramsOwn(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		for act, want := range map[string]int{"exit 0": 0, "exit 1": 1, "exit 255": 255, "die 9": 137} {
			a := newAction(t)
			a.ship()
			a.env[actVar] = act
			assert.Check(t, is.Equal(a.run(n, "main.js").status(), want), "program's %q: status", act)
		}
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			a := newAction(t)
			a.ship()
			a.env[actVar] = "wait"
			s := a.start(n, "main.js")
			assert.NilError(t, s.cmd.Process.Signal(sig))
			if s.wait(); s.status() != waited || s.stdout != fmt.Sprintf("got %v\n", sig) {
				t.Errorf("%v: got %q, status %d, want the program to get it and end with %d", sig, s.stdout, s.status(), waited)
			}
		}
	})
}

// TestProgramNoticesThatItIsAlone checks that the program ends if the shim or the runner above it is
// killed. No signal reports that to the program, but its stdin ends.
func TestProgramNoticesThatItIsAlone(t *testing.T) {
	n := nodes(t)[1] // without execve, because otherwise there is no shim process to kill
	for killed, above := range map[string][]string{"shim": nil, "runner": {"/bin/sh", "-c", `"$@"; :`, "runner"}} {
		a := newAction(t)
		a.ship()
		a.env[actVar] = "wait"
		s := a.begin(slices.Concat(above, n.argv, []string{a.path("cmd/shim/main.js")}))
		assert.NilError(t, s.cmd.Process.Kill())
		// The program keeps stdout open until it has ended.
		if s.wait(); s.stdout != "got EOF\n" {
			t.Errorf("program after the kill of its %s: got %q, want %q", killed, s.stdout, "got EOF\n")
		}
	}
}

// TestActionWorksInsideAnotherProject checks that the action can be below the package.json of a project
// that uses ES modules.
func TestActionWorksInsideAnotherProject(t *testing.T) {
	a := newAction(t)
	a.ship()
	write(t, filepath.Join(a.dir, "..", "package.json"), `{"type": "module"}`)
	if s := a.run(nodes(t)[0], "main.js"); s.status() != 0 {
		t.Errorf("main.js below a package.json of modules: got status %d, want 0\n%s", s.status(), s.stderr.String())
	}
}
