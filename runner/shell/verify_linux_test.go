package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// secret is the value of variables that must not appear in outputs.
const secret = "s3cr3t-0123456789"

// verifying is a Verifier whose environment contains secrets.
var verifying = Verifier{Env: []string{
	"PATH=/usr/bin:/bin", "HOME=/nowhere", "LANG=C.UTF-8", "WHO=base", "ANTHROPIC_API_KEY=" + secret,
	"GITHUB_TOKEN=token-" + secret, "db_password=pass-" + secret, "SHORT_TOKEN=x",
}}

// marks counts the orders, so that each gets its own mark.
var marks atomic.Int64

// checks returns an order to run commands in a new folder.
func checks(t *testing.T, commands ...string) runner.Order {
	t.Helper()
	dir := t.TempDir()
	return runner.Order{
		Checks:  &runner.Checks{Commands: commands, Attempt: 1, LogFile: filepath.Join(dir, "logs", "main", "A.md.log")},
		Timeout: 4 * time.Minute, Dir: dir, Env: []string{"RAYMOND_STATE=A.md", "WHO=order"},
		Mark: fmt.Sprintf("verify-test-%d.%d", os.Getpid(), marks.Add(1)),
	}
}

// quietly ignores the progress of a verification.
func quietly(runner.Progress) {}

// runChecks runs all commands of an order and returns their results.
func runChecks(t *testing.T, c runner.Order) []state.CommandResult {
	t.Helper()
	v := verifying.Verify(t.Context(), c, quietly)
	assert.Equal(t, v.Stopped, "", "%q", c.Commands)
	assert.Assert(t, is.Len(v.Results, len(c.Commands)), "%q", c.Commands)
	return v.Results
}

// one runs a single command and returns its result.
func one(t *testing.T, command string) state.CommandResult {
	t.Helper()
	return runChecks(t, checks(t, command))[0]
}

// TestExitCodes checks the exit code that is reported for a command.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{
		"true": 0, "exit 3": 3, "false || true": 0, "exit 255": 255,
		"no-such-command-anywhere": 127, "/no/such/file": 127, "/etc/passwd": 126,
		"kill -SEGV $$": 139, "kill -KILL $$": 137, "bash -c 'kill -SEGV $$'; exit $?": 139, "kill -TERM $$; exit 7": 143,
		"cat": 0, "read line": 1, "[[ -t 0 ]]": 1, "syntax (error": 2,
	} {
		r := one(t, command)
		assert.Check(t, r.RC == want && r.Cmd == command && (r.RC != 0 || r.Tail == ""), "%s: got %+v, want rc %d", command, r, want)
	}
}

// TestNoSecretIsInTheEnvironment checks that commands get the variables in the order, and no
// secrets.
func TestNoSecretIsInTheEnvironment(t *testing.T) {
	t.Parallel()
	r := one(t, "env; exit 1")
	for _, bad := range []string{secret, "API_KEY", "TOKEN", "password"} {
		assert.Check(t, !strings.Contains(r.Tail, bad), "environment: got %q in\n%s", bad, r.Tail)
	}
	for _, good := range []string{"RAYMOND_STATE=A.md\n", "WHO=order\n", "HOME=/nowhere\n", "RAYMOND_MARK=verify-test-"} {
		assert.Check(t, is.Contains(r.Tail, good), "environment")
	}
	assert.Check(t, !strings.Contains(r.Tail, "WHO=base"), "environment: got WHO twice:\n%s", r.Tail)
}

// TestTails checks every byte in the tail of a command's output.
func TestTails(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for command, want := range map[string]state.CommandResult{
		"exit 1": {},
		"echo x": {RC: -1},
		"head -c 4097 /dev/zero | tr '\\0' x; exit 1":                   {Tail: x(4096), Truncated: true},
		"echo first; head -c 4095 /dev/zero | tr '\\0' x; echo; exit 1": {Tail: x(4095) + "\n", Truncated: true},
		"echo out; echo err >&2; echo out; echo err >&2; exit 1":        {Tail: "out\nerr\nout\nerr\n"},
	} {
		r := one(t, command)
		if want.RC < 0 { // a command that passes has no tail
			assert.Check(t, r.RC == 0 && r.Tail == "" && !r.Truncated, "%s: got %+v, want no tail", command, r)
			continue
		}
		if r.RC == 0 || r.Tail != want.Tail || r.Truncated != want.Truncated || !utf8.ValidString(r.Tail) {
			t.Errorf("%s\ngot  rc %d, %d bytes %.60q, truncated %v\nwant %d bytes %.60q, %v", command, r.RC, len(r.Tail), r.Tail, r.Truncated, len(want.Tail), want.Tail, want.Truncated)
		}
	}
}

// TestTimeoutEndsCommand checks that a command which exceeds its timeout fails, even if it exits
// with code 0 when it gets the signal.
func TestTimeoutEndsCommand(t *testing.T) {
	t.Parallel()
	c := checks(t, "trap 'exit 0' INT; while :; do sleep 0.05; done")
	c.Timeout = 300 * time.Millisecond
	if r := runChecks(t, c)[0]; r.RC != 124 || r.DurationS < 0.3 {
		t.Errorf("got %+v, want rc 124 after 0.3 s", r)
	}
}

// TestCommandsRunInOrder checks that all commands run in the agent's directory, even after one has
// failed. They must see the files of the agent and of earlier commands. Each command must be
// reported before it starts.
func TestCommandsRunInOrder(t *testing.T) {
	t.Parallel()
	c := checks(t, "echo a >>trace; cat made-by-agent", "echo b >>trace; exit 2", "[ \"$PWD\" -ef . ] && cat trace; exit 1")
	assert.NilError(t, os.WriteFile(filepath.Join(c.Dir, "made-by-agent"), []byte("x"), 0o600))
	var got []string
	v := verifying.Verify(t.Context(), c, func(p runner.Progress) {
		trace, _ := os.ReadFile(filepath.Join(c.Dir, "trace"))
		got = append(got, fmt.Sprintf("%q: %.12s", trace, p.Activity))
	})
	for _, r := range v.Results {
		got = append(got, fmt.Sprint(r.RC, " ", r.Tail))
	}
	assert.Check(t, is.DeepEqual(got, []string{`"": checking ech`, `"a\n": checking ech`, `"a\nb\n": checking [ "`, "0 ", "2 ", "1 a\nb\n"}), "told, and results")
}

// TestStoppedVerificationHasNoResults checks that a verification that is stopped returns no results
// and starts no further commands.
func TestStoppedVerificationHasNoResults(t *testing.T) {
	t.Parallel()
	c := checks(t, "true", "echo never >never")
	ctx, cancel := context.WithCancelCause(t.Context())
	v := verifying.Verify(ctx, c, func(p runner.Progress) {
		if strings.Contains(p.Activity, "never") {
			cancel(&runner.StopCause{Reason: "deadline"})
		}
	})
	assert.Check(t, is.Equal(v.Stopped, "deadline"))
	assert.Check(t, is.Nil(v.Results))
	_, err := os.Stat(filepath.Join(c.Dir, "never"))
	assert.Check(t, err != nil, "a command was started after the stop")
}

// TestMissingDirectoryFailsCommand checks that commands fail if their directory is missing, and that
// the output names the directory.
func TestMissingDirectoryFailsCommand(t *testing.T) {
	t.Parallel()
	c := checks(t, "true")
	c.Dir = filepath.Join(c.Dir, "gone")
	if r := runChecks(t, c)[0]; r.RC != 127 || !strings.Contains(r.Tail, "gone") {
		t.Errorf("in a directory that is gone: got %+v, want rc 127 and the directory named", r)
	}
}
