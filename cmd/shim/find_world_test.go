//go:build world

package shim_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// TestWhichProgramIsTaken checks which program the shim starts: RAYMOND_BINARY if no earlier step can
// have set it, or else the program of a release.
func TestWhichProgramIsTaken(t *testing.T) {
	act, own, hosted := map[string]string{"ACT": "true"}, map[string]string{"RUNNER_ENVIRONMENT": "self-hosted"}, map[string]string{"RUNNER_ENVIRONMENT": "github-hosted"}
	for _, c := range []struct {
		what      string
		env       map[string]string
		isShipped bool
		want      string // "chosen" is RAYMOND_BINARY, "shipped" is the release's program; empty means none
	}{
		{"act", act, true, "chosen"}, {"a self-hosted runner", own, true, "chosen"}, {"act, nothing shipped", act, false, "chosen"},
		{"GitHub's runner", hosted, true, "shipped"}, {"GitHub's runner, nothing shipped", hosted, false, ""},
		{"GitHub's runner, ACT set by a step", map[string]string{"RUNNER_ENVIRONMENT": "github-hosted", "ACT": "true"}, true, "shipped"},
		{"a runner that says nothing", nil, true, "shipped"}, {"ACT with another value", map[string]string{"ACT": "1"}, true, "shipped"},
	} {
		eachNode(t, func(t *testing.T, n node) {
			a := newAction(t)
			chosen := filepath.Join(t.TempDir(), "mine")
			program(t, chosen, 0o755)
			if c.isShipped {
				a.ship()
			}
			maps.Copy(a.env, c.env)
			a.env["RAYMOND_BINARY"], a.env["STATE_RAYMOND_BINARY"] = chosen, chosen
			want := map[string]string{"chosen": chosen, "shipped": a.shipped()}[c.want]
			for script, s := range a.both(n) {
				if s.ran != (want != "") || s.ran && s.report.Args[0] != want {
					t.Errorf("%s, %s: got program %q, want %q\n%s", c.what, script, s.report.Args, want, s.stdout)
				}
			}
		})
	}
}

// TestMissingProgramIsOneErrorLine checks that the shim prints one line if there is no program. The line
// names the places that were searched.
func TestMissingProgramIsOneErrorLine(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		for what, c := range map[string]struct {
			env   map[string]string
			files map[string]string
			want  []string
		}{
			"nothing": {nil, nil, []string{"no program for this machine", "RAYMOND_BINARY", "/cmd/shim/bin/raymond-", "Go toolchain", "Use a release"}},
			"sources, but no Go": {nil, map[string]string{"go.mod": "module m\n"},
				[]string{"no program for this machine", "Go toolchain"}},
			"RAYMOND_BINARY that is gone": {map[string]string{"ACT": "true", "RAYMOND_BINARY": "/nowhere/ra%ymond\n::x"}, nil,
				[]string{"RAYMOND_BINARY names no file", "/nowhere/ra%25ymond%0A"}},
			"no place to build": {map[string]string{"RUNNER_TEMP": "/nowhere"}, map[string]string{"go.mod": "module m\n"},
				[]string{"ENOENT", "/nowhere"}},
			"no place that is known": {map[string]string{"RUNNER_TEMP": ""}, map[string]string{"go.mod": "module m\n"},
				[]string{"RUNNER_TEMP is not set"}},
		} {
			a := newAction(t)
			maps.Copy(a.env, c.env)
			for name, text := range c.files {
				write(t, a.path(name), text)
			}
			s := a.run(n, "main.js")
			out := s.stdout
			if s.status() != 1 || !strings.HasPrefix(out, "::error::raymond: ") || strings.Count(out, "\n") != 1 || s.stderr.Len() > 0 {
				t.Errorf("%s: got %q, %q, status %d, want one error line and status 1", what, out, s.stderr.String(), s.status())
			}
			for _, want := range c.want {
				assert.Check(t, is.Contains(out, want), what)
			}
		}
	})
}

// sources is a Go module whose program prints its path, its first argument and the variable INPUT_KEY.
var sources = map[string]string{
	"go.mod": "module example.com/m\n\ngo 1.24\n",
	"cmd/raymond/main.go": `package main

import "os"

func main() { println(os.Args[0], os.Args[1], os.Getenv("INPUT_KEY")) }
`,
}

// withGo adds the sources to the action, and the machine's Go toolchain to its PATH.
func withGo(t *testing.T, a *action) {
	t.Helper()
	for name, text := range sources {
		write(t, a.path(name), text)
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	assert.NilError(t, err)
	a.env["PATH"], a.env["GOTOOLCHAIN"] = filepath.Join(strings.TrimSpace(string(out)), "bin"), "local"
}

// TestSourcesAreBuiltOnce checks that the program is built once per job, whatever Go settings the job
// has. The post phase needs no Go toolchain.
func TestSourcesAreBuiltOnce(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		a := newAction(t)
		withGo(t, a)
		a.env["RUNNER_TEMP"] = filepath.Join(a.env["RUNNER_TEMP"], "work", "temp")
		assert.NilError(t, os.MkdirAll(a.env["RUNNER_TEMP"], 0o700))
		write(t, filepath.Join(a.dir, "..", "go.work"), "go 1.24\n")
		write(t, filepath.Join(a.env["RUNNER_TEMP"], "raymond-build", "planted"), "x")
		maps.Copy(a.env, map[string]string{"GOOS": "plan9", "GOARCH": "386", "GOFLAGS": "-mod=vendor -tags=x", "INPUT_KEY": "k"})
		want := ""
		for _, script := range []string{"main.js", "post.js", "main.js"} {
			s := a.run(n, script)
			fields := strings.Fields(s.stderr.String())
			if s.status() != 0 || len(fields) != 3 || fields[1] != phases[script] || fields[2] != "k" || want != "" && fields[0] != want {
				t.Fatalf("%s: got %q, %q, status %d, want the built program run", script, s.stdout, s.stderr.String(), s.status())
			}
			assert.Check(t, is.Equal(strings.Contains(s.stdout, "compiling it, once per job; this takes a minute or two\n"), (want == "")), script)
			want = fields[0]
			for _, dir := range []string{filepath.Dir(want), filepath.Join(a.env["RUNNER_TEMP"], "raymond-build"), a.env["RUNNER_TEMP"], filepath.Dir(a.env["RUNNER_TEMP"])} {
				if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("%s: built below %s (%v, %v), want a folder of mode 0700", script, dir, info, err)
				}
				if err := os.Chmod(dir, 0); err != nil { // agents can do this too
					t.Fatal(err)
				}
			}
			a.passState()
			a.env["PATH"] = "/nowhere"
		}
	})
}

// TestUnusableBuildDirIsAvoided checks that the shim uses another directory for the build if the usual
// one can't be opened, for example because root in a container has created it.
func TestUnusableBuildDirIsAvoided(t *testing.T) {
	a := newAction(t)
	withGo(t, a)
	assert.NilError(t, os.Symlink("raymond-build", filepath.Join(a.env["RUNNER_TEMP"], "raymond-build")))
	s := a.run(nodes(t)[0], "main.js")
	if s.status() != 0 || !strings.Contains(s.stderr.String(), "raymond-build-") {
		t.Errorf("got %q, %q, status %d, want it built beside that", s.stdout, s.stderr.String(), s.status())
	}
}

// TestAnotherProgramIsNotRun checks that the post phase runs only the program that the main phase has recorded.
func TestAnotherProgramIsNotRun(t *testing.T) {
	n := nodes(t)[0]
	for what, alter := range map[string]func(a *action){
		"a changed program": func(a *action) {
			assert.NilError(t, os.Truncate(a.shipped(), 100))
		},
		"no program":            func(a *action) { _ = os.Remove(a.shipped()) },
		"no note":               func(a *action) { delete(a.env, "STATE_program") },
		"a note without a seal": func(a *action) { a.env["STATE_program"] = "unsealed" + a.env["STATE_program"][64:] },
		"a note of another job": func(a *action) { a.env["ACTIONS_RUNTIME_TOKEN"] = "another" },
		"ACT that a step has set": func(a *action) {
			a.env["RUNNER_ENVIRONMENT"], a.env["ACT"] = "github-hosted", "true"
			a.env["STATE_program"] = "unsealed" + a.env["STATE_program"][64:]
		},
	} {
		a := newAction(t)
		a.ship()
		a.run(n, "main.js")
		a.passState()
		alter(a)
		s := a.run(n, "post.js")
		out := s.stdout
		if s.ran || s.status() != 8 || !strings.HasPrefix(out, "::error::raymond: denied: ") || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: got %q, status %d, ran %t, want it denied in one line with status 8", what, out, s.status(), s.ran)
		}
	}
}

// TestLaterStepRunsNoOtherBuild checks that a later step runs a build only if an earlier step has signed it.
func TestLaterStepRunsNoOtherBuild(t *testing.T) {
	a := newAction(t)
	withGo(t, a)
	n := nodes(t)[0]
	program, _, _ := strings.Cut(a.run(n, "main.js").stderr.String(), " ")
	write(t, program, "#!/bin/sh\necho evil\n")
	if s := a.run(n, "main.js"); s.status() != 8 || !strings.Contains(s.stdout, "denied: "+program) {
		t.Errorf("got %q, status %d, want the changed program named, and denied", s.stdout, s.status())
	}
}

// TestBuildGetsNoSecrets checks that the go command gets none of the job's secrets.
func TestBuildGetsNoSecrets(t *testing.T) {
	a := newAction(t)
	write(t, a.path("go.mod"), "module m\n")
	record := filepath.Join(t.TempDir(), "env")
	installtest.WriteProgram(t, filepath.Join(a.env["PATH"], "go"), "#!/bin/sh\n/usr/bin/env > "+record+"\nexit 3\n")
	kept := strings.Fields("GOPROXY https_proxy SSL_CERT_FILE HOME XDG_CACHE_HOME")
	withheld := strings.Fields(`INPUT_STATE-KEY INPUT_GITHUB-TOKEN ACTIONS_RUNTIME_TOKEN ACTIONS_RESULTS_URL STATE_x GITHUB_TOKEN
		ANTHROPIC_API_KEY GOOGLE_API_KEY GITHUB_ENV NODE_OPTIONS_X MY_GOPROXY`)
	for _, name := range slices.Concat(withheld, kept) {
		if a.env[name] == "" {
			a.env[name] = "value-of-" + name
		}
	}
	s := a.run(nodes(t)[0], "main.js")
	data, err := os.ReadFile(record)
	assert.NilError(t, err, s.stdout)
	assert.Check(t, is.Contains(s.stdout, "exit code 3"), "stdout: want the exit code of go in it")
	for _, name := range withheld {
		assert.Check(t, !strings.Contains(string(data), "value-of-"+name+"\n"), "environment of go: got %s in it", name)
	}
	for _, name := range kept {
		assert.Check(t, is.Contains(string(data), name+"="+a.env[name]+"\n"), "environment of go")
	}
}
