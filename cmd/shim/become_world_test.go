//go:build world

package shim_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var phases = map[string]string{"main.js": "action", "post.js": "action-post"}

// TestNoNodeProcessStays: with execve the program is the process that the runner
// started, without it that one's child.
func TestNoNodeProcessStays(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		for script, phase := range phases {
			a := newAction(t)
			a.ship(0o600) // zip archives lose the executable bit
			s := a.run(n, "main.js")
			if script == "post.js" {
				a.tell()
				s = a.run(n, script)
			}
			r := s.report()
			if len(r.Args) != 2 || r.Args[0] != a.shipped() || r.Args[1] != phase {
				t.Errorf("%s: got arguments %q, want %q", script, r.Args, []string{a.shipped(), phase})
			}
			if got := r.PID == s.cmd.Process.Pid; got != n.becomes {
				t.Errorf("%s: program is the shim's process: got %t, want %t", script, got, n.becomes)
			}
			if got := r.Parent == s.cmd.Process.Pid; got == n.becomes {
				t.Errorf("%s: program is the shim's child: got %t, want %t", script, got, !n.becomes)
			}
		}
	})
}

func TestProgramSeesTheStepsEnvironment(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		a := newAction(t)
		a.ship(0o755)
		a.env["INPUT_WORKFLOW"], a.env["ACTIONS_RUNTIME_TOKEN"] = "a b\nc", "token"
		// What an earlier step says must not make the program wait for a pipe that isn't there.
		a.env["RAYMOND_SHIM_STDIN"], a.env["RAYMOND_SHIM"] = "1", "/planted"
		r := a.run(n, "main.js").report()
		for _, name := range []string{"INPUT_WORKFLOW", "ACTIONS_RUNTIME_TOKEN", "PATH", "HOME"} {
			if r.Env[name] != a.env[name] {
				t.Errorf("%s: got %q, want %q", name, r.Env[name], a.env[name])
			}
		}
		if got := r.Env["RAYMOND_SHIM"]; got != a.path("cmd/shim") {
			t.Errorf("RAYMOND_SHIM: got %q, want the folder of the JavaScript, whatever a step has set", got)
		}
		if got, ok := r.Env["RAYMOND_SHIM_STDIN"]; ok == n.becomes || ok && got != "1" {
			t.Errorf("RAYMOND_SHIM_STDIN: got %q (set: %t), want it set to 1: %t", got, ok, !n.becomes)
		}
	})
}

// TestNodeKeepsNoSecretsInItsEnvironment: where node stays, agents can read what it began
// with. (Only Linux has a file of that.)
func TestNodeKeepsNoSecretsInItsEnvironment(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		a := newAction(t)
		a.ship(0o755)
		a.env["ACTIONS_RUNTIME_TOKEN"], a.env[actVar] = "the-token-of-the-job", "wait"
		s := a.start(n, "main.js")
		if r := s.report(); r.Env["ACTIONS_RUNTIME_TOKEN"] != "the-token-of-the-job" {
			t.Errorf("the program got %q, want the token", r.Env["ACTIONS_RUNTIME_TOKEN"])
		}
		began := time.Now()
		for gone := n.becomes || runtime.GOOS != "linux"; !gone; { // the program may be quicker than node
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.cmd.Process.Pid))
			if err != nil || time.Since(began) > patience {
				t.Errorf("environment of node: got %q, %v, want nothing of the job's in it", data, err)
				break
			}
			gone = !strings.Contains(string(data), "the-token-of-the-job")
		}
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if s.wait(); s.status() != waited {
			t.Errorf("got status %d, want %d", s.status(), waited)
		}
	})
}

func TestSignalsReachTheProgram(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			a := newAction(t)
			a.ship(0o755)
			a.env[actVar] = "wait"
			s := a.start(n, "main.js")
			s.report()
			if err := s.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if s.wait(); s.status() != waited || s.stdout.String() != fmt.Sprintf("got %v\n", sig) {
				t.Errorf("%v: got %q, status %d, want the program to get it and end with %d",
					sig, s.stdout.String(), s.status(), waited)
			}
		}
	})
}

func TestEndIsTheProgramsEnd(t *testing.T) {
	ends := map[string]int{"exit 0": 0, "exit 1": 1, "exit 41": 41, "exit 255": 255, "die 9": 137}
	eachNode(t, func(t *testing.T, n node) {
		for act, want := range ends {
			a := newAction(t)
			a.ship(0o755)
			a.env[actVar] = act
			if s := a.run(n, "main.js"); s.status() != want {
				t.Errorf("program's %q: got status %d, want %d", act, s.status(), want)
			}
		}
	})
}

// TestProgramLearnsThatItIsAlone: no signal tells of a kill, of the shim or of the runner above it; the end of the pipe
// does.
func TestProgramLearnsThatItIsAlone(t *testing.T) {
	for _, n := range nodes(t) {
		if n.becomes {
			continue // the program is the process that the runner started
		}
		for killed, above := range map[string][]string{"shim": nil, "runner": {"/bin/sh", "-c", `"$@"; :`, "runner"}} {
			a := newAction(t)
			a.ship(0o755)
			a.env[actVar] = "wait"
			s := a.begin(slices.Concat(above, n.argv, []string{a.path("cmd/shim/main.js")}))
			s.report()
			if err := s.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			// The program holds stdout open until it has ended.
			if s.wait(); s.stdout.String() != "got EOF\n" {
				t.Errorf("program after the kill of its %s: got %q, want %q", killed, s.stdout.String(), "got EOF\n")
			}
		}
	}
}
