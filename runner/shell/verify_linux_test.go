package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
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

// runChecks runs all commands of an order and returns their results.
func runChecks(t *testing.T, c runner.Order) []state.CommandResult {
	t.Helper()
	v := verifying.Verify(t.Context(), c, silent)
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

// took matches the duration of a command in a log.
var took = regexp.MustCompile(`\(\d+\.\ds\)`)

// readLog returns a log in which durations are replaced, because they differ from run to run.
func readLog(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	assert.NilError(t, err)
	return took.ReplaceAllString(string(data), "(TIME)")
}

// TestLogDescribesAttempt checks the whole log of one attempt, and the verdicts in the logs of two
// other attempts.
func TestLogDescribesAttempt(t *testing.T) {
	t.Parallel()
	c := checks(t, "echo out; echo err >&2; exit 3", "true")
	c.Attempt, c.AgentCode = 2, 1
	runChecks(t, c)
	want := "attempt 2\nagent exit code: 1\n\n$ echo out; echo err >&2; exit 3\nout\nerr\nrc: 3 (TIME)\n\n$ true\nrc: 0 (TIME)\n\nverdict: failed\n"
	assert.Check(t, is.DeepEqual(readLog(t, c.LogFile), want), "log")
	c.Commands, c.Refused = []string{"true"}, "there is no transition tag"
	runChecks(t, c)
	got := readLog(t, c.LogFile)
	assert.Check(t, strings.HasSuffix(got, "no transition: there is no transition tag\n\nverdict: failed\n"), "log of an attempt without a tag: got %q, want it failed", got)
	c.Refused = ""
	runChecks(t, c)
	got = readLog(t, c.LogFile)
	assert.Check(t, strings.HasSuffix(got, "\n\nverdict: passed\n"), "log of an attempt that converged: got %q, want it passed", got)
}

// TestEarlierLogsAreKept checks that earlier logs are renamed to .1, .2, … and stay unchanged.
func TestEarlierLogsAreKept(t *testing.T) {
	t.Parallel()
	c := checks(t, "true")
	for c.Attempt = 1; c.Attempt <= 3; c.Attempt++ {
		runChecks(t, c)
	}
	for path, want := range map[string]string{c.LogFile: "attempt 3\n", c.LogFile + ".1": "attempt 1\n", c.LogFile + ".2": "attempt 2\n"} {
		if got := readLog(t, path); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %.20q, want %q", filepath.Base(path), got, want)
		}
	}
}

// TestUnwritableLogChangesNoVerdict checks that verification works without a log.
func TestUnwritableLogChangesNoVerdict(t *testing.T) {
	t.Parallel()
	c := checks(t, "true", "echo x; false")
	c.LogFile = filepath.Join(c.Dir, "file", "A.md.log")
	assert.NilError(t, os.WriteFile(filepath.Join(c.Dir, "file"), nil, 0o600))
	if r := runChecks(t, c); r[0].RC != 0 || r[1].RC != 1 || r[1].Tail != "x\n" {
		t.Errorf("results: got %+v, want rc 0, then 1", r)
	}
}

// TestSecretsAreRedactedInTails checks secrets that are inside the tail, at its edge, or cut off by
// it. It also checks outputs that become short because they contain many secrets.
func TestSecretsAreRedactedInTails(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long secret ", 500) + "end" // longer than a tail
	lines := "first-line-of-it\nsecond-line-of-it\nthird"
	v := Verifier{Env: append(verifying.Env, "LONG_SECRET="+long, "PRIVATE_KEY="+lines, "A_TOKEN=prefix-0123", "B_TOKEN=prefix-0123-and-more")}
	values := []string{secret, "token-" + secret, long, lines, "prefix-0123", "prefix-0123-and-more"}
	for _, value := range values {
		for _, after := range []int{0, 1, 4090, 4095, 4096, 4097, 4096 - len(value)/2, 4096 - len(value) + 1, 4096 - len(value), 8192 - len(value)/2, 8191} {
			for _, before := range []int{0, 3, 20_000} {
				after := max(0, after)
				text := strings.Repeat(".", before) + value + strings.Repeat("z", after)
				wantNoSecret(t, v.Env, fmt.Sprintf("%.12q… of %d bytes between %d and %d others", value, len(value), before, after), text)
			}
		}
		wantNoSecret(t, v.Env, fmt.Sprintf("%.12q… a thousand times", value), strings.Repeat(value, 1000))
		wantNoSecret(t, v.Env, fmt.Sprintf("%.12q… on a thousand lines", value), strings.Repeat(value+"\n", 1000))
	}
	for n := range 50 { // vary the length, so that the tail begins at each byte of a login
		text := strings.Repeat("https://user:hunter2-hunter2-hunter2@host ", 1000) + strings.Repeat("z", n)
		wantNoSecret(t, v.Env, fmt.Sprintf("logins and %d others", n), text)
	}
}

// wantNoSecret checks that the tail of an output contains no piece of a secret, and that the tail
// is the end of the output.
func wantNoSecret(t *testing.T, env []string, what, text string) {
	t.Helper()
	output := newTail()
	fmt.Fprint(output, text)
	var r state.CommandResult
	r.Tail, r.Truncated = end(output, env, secrets.NewRedactor(env).Text)
	// Not even eight bytes of a secret may remain.
	for _, part := range []string{"s3cr3t-0", "0123456789", "secret l", "ong secr", "of it", "-of-it", "irst-lin", "prefix-0", "-0123-an", "and-more", "hunter2-"} {
		assert.Check(t, !strings.Contains(r.Tail, part), "%s: got %q in the tail %.200q", what, part, r.Tail)
	}
	dropped := len(text) > len(r.Tail) && !strings.Contains(text, "secret")
	if len(r.Tail) > 4096 || len(text) <= 4096 && r.Truncated && !dropped || len(text) > 100_000 && !r.Truncated {
		t.Errorf("%s: got a tail of %d bytes of %d, truncated %v", what, len(r.Tail), len(text), r.Truncated)
	}
	assert.Check(t, !strings.HasSuffix(text, "zzzz") || strings.HasSuffix(r.Tail, "zzzz"), "%s: got %.200q, want the end of the output", what, r.Tail)
}
