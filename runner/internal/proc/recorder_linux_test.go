package proc

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// read returns the content of the file whose path consists of the given elements.
func read(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	assert.NilError(t, err)
	return string(data)
}

// TestEachInvocationIsRecorded checks that each invocation in a directory gets its own debug files.
func TestEachInvocationIsRecorded(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct{ prompt, role, prefix string }{
		{"first", "print", ""}, {"second", "complain", ".2"}, {"third", "print", ".3"},
	} {
		s := part(c.role, c.prompt)
		var out strings.Builder
		s.Stdout = &out
		s.Stdin, s.DebugDir, s.DebugStdout = []byte(c.prompt), dir, ".jsonl"
		run(t, s)
		stdout, stderr := read(t, dir, "stdout"+c.prefix+".jsonl"), read(t, dir, "stderr"+c.prefix+".txt")
		if stdout != out.String() || stdout+stderr != c.prompt || read(t, dir, "prompt"+c.prefix+".md") != c.prompt {
			t.Errorf("invocation %d %s: stdout %q, stderr %q, passed on %q", i+1, c.role, stdout, stderr, out.String())
		}
		if info, _ := os.Stat(filepath.Join(dir, "stdout"+c.prefix+".jsonl")); info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
	}
}

// TestRecordedCommandHasNoSecrets checks that secrets are masked in the recorded arguments and environment.
func TestRecordedCommandHasNoSecrets(t *testing.T) {
	const secret = "s3cr3t-value"
	s := Options{
		Path: "claude", Dir: "/some/dir", Mark: "m.1",
		Args: []string{"--model", "x<y", "--settings", `{"env":{"K":"` + secret + `"}}`, "https://me:pw@host/x"},
		Env:  []string{"ANTHROPIC_API_KEY=" + secret, "COPY=is " + secret + " here", "DATABASE_URL=postgres://u:pw@host/db", "PWD=/some/dir"},
	}
	dir := t.TempDir()
	s.DebugDir = dir
	startRecording(&s)()
	var got struct {
		Argv        []string
		Cwd         string
		Environment map[string]string
	}
	text := read(t, dir, "command.json")
	assert.NilError(t, json.Unmarshal([]byte(text), &got))
	assert.Check(t, !strings.Contains(text, secret), "a secret is in command.json:\n%s", text)
	assert.Check(t, !strings.Contains(text, ":pw@"), "a secret is in command.json:\n%s", text)
	want := map[string]string{
		"ANTHROPIC_API_KEY": "***", "COPY": "is *** here", "DATABASE_URL": "postgres://***@host/db", "PWD": "/some/dir", "RAYMOND_MARK": "m.1",
	}
	if !maps.Equal(got.Environment, want) || got.Cwd != "/some/dir" || len(got.Argv) != 6 || got.Argv[2] != "x<y" {
		t.Errorf("got %+v, want the environment %v", got, want)
	}
}

// TestRecordingNeverFailsARun checks that a child runs normally if its debug files can't be written.
func TestRecordingNeverFailsARun(t *testing.T) {
	taken := t.TempDir()
	for _, name := range []string{"stdout.txt", "stderr.txt", "prompt.md"} {
		assert.NilError(t, os.Mkdir(filepath.Join(taken, name), 0o700))
	}
	for _, dir := range []string{"", "/no/such/folder", taken} {
		var out strings.Builder
		s := part("print", "hello")
		s.Stdout = &out
		s.Stdin, s.DebugDir, s.DebugStdout = []byte("x"), dir, ".txt"
		if e := run(t, s); e.Code != 0 || out.String() != "hello" {
			t.Errorf("in %q: got %+v, %q", dir, e, out.String())
		}
	}
}
