//go:build world

package shim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// TestWhichProgramIsTaken walks through the order: RAYMOND_BINARY where no
// earlier step can have set it, the shipped copy, a build.
func TestWhichProgramIsTaken(t *testing.T) {
	for _, c := range readCases(t).Programs {
		eachNode(t, func(t *testing.T, n node) {
			for script := range phases {
				a := newAction(t)
				chosen := filepath.Join(t.TempDir(), "mine")
				program(t, chosen)
				if c.Shipped {
					a.ship(0o755)
				}
				a.env = with(a.env, c.Env, map[string]string{"RAYMOND_BINARY": chosen, "STATE_RAYMOND_BINARY": chosen})
				s := a.run(n, script)
				r, _ := a.reported()
				if got := which(r, chosen, a.shipped()); got != c.Want {
					t.Errorf("%s, %s: got program %q, want %q\n%s", c.What, script, got, c.Want, s.stdout.String())
				}
			}
		})
	}
}

func which(r report, chosen, shipped string) string {
	switch {
	case len(r.Args) == 0:
		return ""
	case r.Args[0] == chosen:
		return "chosen"
	case r.Args[0] == shipped:
		return "shipped"
	}
	return r.Args[0]
}

// TestOneErrorLineWhenThereIsNothing holds for each way to have nothing; the line
// says what was looked for.
func TestOneErrorLineWhenThereIsNothing(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		for what, c := range map[string]struct {
			env   map[string]string
			files map[string]string
			want  []string
		}{
			"nothing": {nil, nil, []string{"no program for this machine", "RAYMOND_BINARY", "/cmd/shim/bin/raymond-", "Go toolchain", "Name a release"}},
			"sources, but no Go": {nil, map[string]string{"go.mod": "module m\n"},
				[]string{"no program for this machine", "Go toolchain"}},
			"RAYMOND_BINARY that is gone": {map[string]string{"ACT": "true", "RAYMOND_BINARY": "/nowhere/ra%ymond\n::x"}, nil,
				[]string{"RAYMOND_BINARY names no file", "/nowhere/ra%25ymond%0A"}},
			"no place to build": {map[string]string{"RUNNER_TEMP": "/nowhere"}, map[string]string{"go.mod": "module m\n"},
				[]string{"ENOENT", "/nowhere"}},
		} {
			a := newAction(t)
			a.env = with(a.env, c.env)
			for name, text := range c.files {
				write(t, a.path(name), text)
			}
			s := a.run(n, "main.js")
			out := s.stdout.String()
			if s.status() != 1 || !strings.HasPrefix(out, "::error::raymond: ") || strings.Count(out, "\n") != 1 || s.stderr.Len() > 0 {
				t.Errorf("%s: got %q, %q, status %d, want one error line and status 1", what, out, s.stderr.String(), s.status())
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%s: got %q, want %q in it", what, out, want)
				}
			}
		}
	})
}

// sources is a module with a program that says how it was called.
var sources = map[string]string{
	"go.mod": "module example.com/m\n\ngo 1.24\n",
	"cmd/raymond/main.go": `package main

import "os"

func main() { println(os.Args[0], os.Args[1], os.Getenv("INPUT_KEY")) }
`,
}

// withGo gives the action its sources and the machine's Go toolchain.
func withGo(t *testing.T, a *action) {
	t.Helper()
	for name, text := range sources {
		write(t, a.path(name), text)
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	a.env["PATH"], a.env["GOCACHE"] = filepath.Join(lines[0], "bin"), lines[1]
	a.env["GOTOOLCHAIN"] = "local"
}

// TestSourcesAreBuilt, whatever the job itself builds and how.
func TestSourcesAreBuilt(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		a := newAction(t)
		withGo(t, a)
		write(t, filepath.Join(a.dir, "..", "go.work"), "go 1.24\n")
		a.env = with(a.env, map[string]string{"GOOS": "plan9", "GOARCH": "386", "GOFLAGS": "-mod=vendor -tags=x", "INPUT_KEY": "k"})
		seen := map[string]bool{}
		for script, phase := range phases {
			s := a.run(n, script)
			fields := strings.Fields(s.stderr.String())
			if s.status() != 0 || len(fields) != 3 || fields[1] != phase || fields[2] != "k" {
				t.Fatalf("%s: got %q, %q, status %d, want the built program run", script, s.stdout.String(), s.stderr.String(), s.status())
			}
			dir := filepath.Dir(fields[0])
			info, err := os.Stat(dir)
			if err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(dir) != a.env["RUNNER_TEMP"] || seen[dir] {
				t.Errorf("%s: built into %s (%v, %v), want a new folder of mode 0700 in %s", script, dir, info, err, a.env["RUNNER_TEMP"])
			}
			seen[dir] = true
		}
	})
}

// TestBuildGetsNoSecrets: what the go command starts sees none of the job's.
func TestBuildGetsNoSecrets(t *testing.T) {
	a := newAction(t)
	write(t, a.path("go.mod"), "module m\n")
	record := filepath.Join(t.TempDir(), "env")
	installtest.WriteProgram(t, filepath.Join(a.env["PATH"], "go"), "#!/bin/sh\n/usr/bin/env > "+record+"\nexit 3\n")
	names := readCases(t).Build
	for _, name := range append(names.Withheld, names.Kept...) {
		if a.env[name] == "" {
			a.env[name] = "value-of-" + name
		}
	}
	s := a.run(nodes(t)[0], "main.js")
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.stdout.String())
	}
	if !strings.Contains(s.stdout.String(), "exit code 3") {
		t.Errorf("stdout: got %q, want the exit code of go in it", s.stdout.String())
	}
	for _, name := range names.Withheld {
		if strings.Contains(string(data), "value-of-"+name+"\n") {
			t.Errorf("environment of go: got %s in it", name)
		}
	}
	for _, name := range names.Kept {
		if !strings.Contains(string(data), name+"="+a.env[name]+"\n") {
			t.Errorf("environment of go: got no %s", name)
		}
	}
}

// TestActionMayLieInAnotherProject: a copy below the package.json of a project
// whose JavaScript are modules.
func TestActionMayLieInAnotherProject(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		a := newAction(t)
		a.ship(0o755)
		write(t, filepath.Join(a.dir, "..", "package.json"), `{"type": "module"}`)
		if s := a.run(n, "main.js"); s.status() != 0 {
			t.Errorf("main.js below a package.json of modules: got status %d, want 0\n%s", s.status(), s.stderr.String())
		}
	})
}
