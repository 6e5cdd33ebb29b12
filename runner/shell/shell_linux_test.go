package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
)

// base is the backend that runs the scripts of most tests.
var base = Backend{Env: []string{"PATH=/usr/bin:/bin", "WHO=base", "RAYMOND_STATE=outer"}}

// order returns an order to run a script with this text.
func order(t *testing.T, name, text string) runner.Order {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, name)
	assert.NilError(t, os.WriteFile(script, []byte(text), 0o600))
	return runner.Order{
		Agent:  "main",
		State:  name,
		Kind:   protocol.Script,
		Dir:    dir,
		Mark:   "test-" + strconv.Itoa(os.Getpid()) + "." + filepath.Base(dir) + t.Name(),
		Script: runner.ScriptOrder{Path: script},
	}
}

// silent ignores the progress of a script or of a verification.
func silent(runner.Progress) {}

// failure runs a script that must fail, and returns its answer and its failure.
func failure(t *testing.T, o runner.Order) (runner.Answer, *runner.Failure) {
	t.Helper()
	answer, err := base.Run(context.Background(), o, silent)
	var f *runner.Failure
	assert.Assert(t, errors.As(err, &f), "%s: got %+v, %v, want a failure", o.Script.Path, answer, err)
	assert.Check(t, !strings.ContainsAny(f.Message, "\n\r"), "%s: more than a line: %q", o.Script.Path, f.Message)
	return answer, f
}

// TestStdoutIsTheMessage checks that a script's stdout becomes the message byte by byte. It also
// checks the script's directory and environment.
func TestStdoutIsTheMessage(t *testing.T) {
	t.Parallel()
	o := order(t, "A.sh", `echo "in $PWD"; echo noise >&2; printf '%s|%s|%s|' "$WHO" "$RAYMOND_STATE" "$0"; cat; printf '<goto>B</goto>\xff'`)
	o.Env = []string{"RAYMOND_STATE=A.sh"}
	answer, err := base.Run(context.Background(), o, silent)
	want := "in " + o.Dir + "\nbase|A.sh|" + o.Script.Path + "|<goto>B</goto>\xff"
	assert.Check(t, err == nil && answer.Text == want && answer.ExitCode == 0, "got  %+v, %v\nwant %q", answer, err, want)
}

// TestPathHasNoHiddenFolders checks that the PATH of a trusted script doesn't contain folders that
// agents can write, even if a link names them.
func TestPathHasNoHiddenFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"work/.venv/bin", "tools"} {
		assert.NilError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	assert.NilError(t, os.Symlink("work/.venv/bin", filepath.Join(dir, "link")))
	env := []string{"PATH=/gone", "PATH=" + strings.Join([]string{dir + "/work/.venv/bin", dir + "/link", dir + "/tools", "/usr/bin"}, ":"), "A=b"}
	assert.Check(t, is.Equal(visiblePath(env, []string{dir + "/work"}), "PATH="+dir+"/tools:/usr/bin"))
}

// TestFailuresSayWhatHappened checks that the message of a failure contains the exit code or the
// signal, and the ends of both outputs.
func TestFailuresSayWhatHappened(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for _, c := range []struct{ script, want string }{
		{"exit 3", "exit code 3"},
		{"echo one >&2; echo two >&2; exit 1", `exit code 1; stderr: one\ntwo`},
		{"kill -9 $$", "ended by signal SIGKILL (it was killed, probably because memory was short: a smaller max-parallel"},
		{"sh -c 'kill -9 $$'", "exit code 137 (it was killed, probably because memory was short"},
		{"echo bye >&2; kill -SEGV $$", "ended by signal SIGSEGV; stderr: bye"},
		{`printf 'a\rb\033[31m\xff\u2028é' >&2; exit 7`, `exit code 7; stderr: a\rb\x1b[31m` + "\ufffd" + `\u2028é`},
		{"printf " + long + "end >&2; exit 1", "exit code 1; stderr: " + long[:397] + "end"},
		{"echo 'FAIL: 2 of 3'; exit 1", "exit code 1; stdout: FAIL: 2 of 3"},
		{"echo out; echo err >&2; exit 1", "exit code 1; stdout: out; stderr: err"},
		{"printf '%s\\nlast\\n' " + long + "; exit 1", "exit code 1; stdout: last"},
		{"no-such-command", "exit code 127; stderr: "},
	} {
		_, f := failure(t, order(t, "A.sh", c.script))
		assert.Check(t, f.Class == runner.Fatal && strings.HasPrefix(f.Message, c.want), "%s\ngot  %v %q\nwant %q", c.script, f.Class, f.Message, c.want)
	}
}

// TestTailsOfOutputs checks that the tail of an output is its last 4096 bytes, without half
// characters and without secrets or pieces of them.
func TestTailsOfOutputs(t *testing.T) {
	t.Parallel()
	const key = "sk-secret-0123456789"
	b := Backend{Env: append(base.Env, "API_KEY="+key)}
	for name, c := range map[string]struct{ script, want string }{
		"whole":               {"printf 'a\\nb'", "a\nb"},
		"longest":             {"head -c 4096 /dev/zero | tr '\\0' x", strings.Repeat("x", 4096)},
		"one more":            {"printf y; head -c 4096 /dev/zero | tr '\\0' x", strings.Repeat("x", 4096)},
		"characters":          {"for i in {1..2100}; do printf é; done; printf x", strings.Repeat("é", 2047) + "x"},
		"lines":               {"for i in {1..400}; do echo a long line; done", "ine\n" + strings.Repeat("a long line\n", 341)},
		"no UTF-8":            {`printf 'a\xffb'`, "a\ufffdb"},
		"a secret":            {"echo key $API_KEY", "key ***\n"},
		"secrets":             {"for i in {1..3000}; do printf '%s ' $API_KEY; done", strings.Repeat("*** ", 700)},
		"a secret at the cut": {"printf 'a%s' $API_KEY; head -c 4090 /dev/zero | tr '\\0' x", "a***"[1:] + strings.Repeat("x", 4090)},
	} {
		for _, stream := range []string{"stdout", "stderr"} {
			o := order(t, "A.sh", "{ "+c.script+"\n} "+map[string]string{"stdout": "", "stderr": ">&2"}[stream]+"\nexit 1")
			o.Hide = secrets.NewRedactor(b.Env).Text
			answer, err := b.Run(context.Background(), o, silent)
			got, other := answer.Script.StdoutTail, answer.Script.StderrTail
			if stream == "stderr" {
				got, other = other, got
			}
			if err == nil || len(got) > 4096 || other != "" || !strings.HasSuffix(got, c.want) || len(got)-len(c.want) > 400 {
				t.Errorf("%s on %s: got %d bytes %.60q and %.60q, want %d bytes %.60q", name, stream, len(got), got, other, len(c.want), c.want)
			}
			assert.Check(t, !strings.Contains(got, "secret"), "%s on %s: got a part of a secret", name, stream)
			assert.Check(t, !strings.Contains(err.Error(), "secret"), "%s on %s: got a part of a secret", name, stream)
		}
	}
}

// TestTimeoutsAreFatal checks that a script fails with class Fatal if it exceeds its timeout or its
// idle timeout.
func TestTimeoutsAreFatal(t *testing.T) {
	t.Parallel()
	o := order(t, "A.sh", "echo before >&2; sleep 100")
	o.Timeout = 300 * time.Millisecond
	if _, f := failure(t, o); f.Class != runner.Fatal || f.Message != "timed out after 300ms; stderr: before" {
		t.Errorf("got %+v", f)
	}
	o = order(t, "A.sh", "sleep 100 | cat")
	o.Idle = 300 * time.Millisecond
	if _, f := failure(t, o); f.Class != runner.Fatal || f.Message != "no output for 300ms" {
		t.Errorf("got %+v", f)
	}
}

// TestLargestMessagePasses checks that a message of MaxMessage bytes is accepted, and that a script
// which writes one byte more fails.
func TestLargestMessagePasses(t *testing.T) {
	t.Parallel()
	answer, err := base.Run(context.Background(), order(t, "A.sh", "head -c 10485760 /dev/zero"), silent)
	assert.Check(t, err)
	assert.Check(t, is.Len(answer.Text, MaxMessage))
	answer, f := failure(t, order(t, "A.sh", "head -c 10485761 /dev/zero; sleep 100"))
	if f.Class != runner.Fatal || !strings.HasPrefix(f.Message, "stdout is over 10 MiB, the limit of a message; stdout: ") || len(answer.Text) != MaxMessage {
		t.Errorf("got %d bytes, %+v", len(answer.Text), f)
	}
}

// watcher records all lines that are reported.
type watcher struct {
	mu    sync.Mutex // guards lines
	lines []string
}

// report records the line of output in p.
func (w *watcher) report(p runner.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, p.Text)
}

// TestStopEndsScriptAndItsProcesses checks that a stop ends a script and its background process,
// although both ignore signals.
func TestStopEndsScriptAndItsProcesses(t *testing.T) {
	t.Parallel()
	o, w := order(t, "A.sh", "(trap '' INT TERM; sleep 1000) & echo $! >&2; trap '' INT TERM; while :; do sleep 1000; done"), &watcher{}
	o.Verbosity = runner.VerbosityFull
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err := base.Run(ctx, o, func(p runner.Progress) {
		w.report(p)
		cancel(&runner.StopCause{Reason: "deadline", Term: 100 * time.Millisecond, Kill: 100 * time.Millisecond})
	})
	var f *runner.Failure
	assert.Check(t, errors.As(err, &f) && f.Class == runner.Stopped && strings.HasPrefix(f.Message, "stopped: deadline"), "got %v, want Stopped", err)
	pid, _ := strconv.Atoi(w.lines[0])
	assert.Check(t, pid != 0, "process %d is still there", pid)
	assert.Check(t, syscall.Kill(pid, 0) != nil, "process %d is still there", pid)
}

// TestStopAfterEndIsNoFailure checks that a script which has ended doesn't fail because of a stop.
// The stop comes while Run still waits for a process that the script has left behind.
func TestStopAfterEndIsNoFailure(t *testing.T) {
	t.Parallel()
	// The process that the script leaves behind notices the end of the script, and keeps Run
	// waiting.
	o, w := order(t, "A.sh", `(
		trap '' TERM
		while read -r _ _ _ parent _ </proc/$BASHPID/stat && [ "$parent" = $$ ]; do :; done
		echo orphaned >&2
		while :; do sleep 1000; done
	) & echo done`), &watcher{}
	o.Verbosity = runner.VerbosityFull
	ctx, cancel := context.WithCancel(context.Background())
	answer, err := base.Run(ctx, o, func(p runner.Progress) {
		// Before this line the script itself may still run, and a signal would end it.
		if w.report(p); p.Text == "orphaned" {
			cancel()
		}
	})
	assert.Check(t, err == nil && answer.Text == "done\n" && len(answer.Notes) == 1, "got %+v, %v", answer, err)
}

// TestOutputIsReportedByLine checks that the lines of both streams are reported at every Verbosity,
// in the order in which they were written to each stream.
func TestOutputIsReportedByLine(t *testing.T) {
	t.Parallel()
	for _, verbosity := range []runner.Verbosity{runner.VerbosityNone, runner.VerbosityBounded, runner.VerbosityFull} {
		o, w := order(t, "A.sh", `printf 'one\r\ntw\xffo\nthr' >&2; echo message; printf 'ee' >&2; printf last`), &watcher{}
		o.Verbosity = verbosity
		_, err := base.Run(context.Background(), o, w.report)
		var stdout, stderr []string
		for _, line := range w.lines {
			if line == "message" || line == "last" {
				stdout = append(stdout, line)
			} else {
				stderr = append(stderr, line)
			}
		}
		if got, want := strings.Join(append(stderr, stdout...), "|"), "one|tw\ufffdo|three|message|last"; err != nil || got != want {
			t.Errorf("verbosity %d: got  %q, %v\nwant %q", verbosity, got, err, want)
		}
	}
}

// TestSecretsOnStderrAreHidden checks secrets that are written in several pieces, at the end of a
// line that is too long, and in the end of stderr, which a failure quotes.
func TestSecretsOnStderrAreHidden(t *testing.T) {
	t.Parallel()
	const secret = "sk-ant-0123456789abcdefghijkl"
	for shift := 0; shift < 30; shift += 3 {
		o, w := order(t, "A.sh", fmt.Sprintf(`
			printf 'sk-ant-0123' >&2; printf '456789abcdefghijkl\n' >&2
			printf '%%*s%s\n' %d x >&2
			printf '%s%%*s\nlast words' %d x >&2
			exit 3`, secret, maxLine-shift, secret, 4096-len("\nlast words")-shift)), &watcher{}
		o.Verbosity = runner.VerbosityBounded
		o.Hide = func(s string) string { return strings.ReplaceAll(s, secret, "***") }
		_, err := base.Run(context.Background(), o, w.report)
		all := strings.Join(append(w.lines, err.Error()), "\n")
		for _, part := range []string{"sk-a", "t-01", "2345", "6789", "cdef", "ijkl"} {
			if at := strings.Index(all, part); at >= 0 {
				t.Fatalf("%d before the cut: got %q in %q", shift, part, all[max(0, at-40):min(len(all), at+40)])
			}
		}
		if w.lines[0] != "***" || !strings.HasSuffix(err.Error(), "last words") {
			t.Fatalf("got %q first, error %.300q, want stars and the last words", w.lines[0], err)
		}
	}
}

// TestScriptsThatCannotStart checks the class and the message of the failure if a script can't be
// started.
func TestScriptsThatCannotStart(t *testing.T) {
	t.Parallel()
	good := order(t, "A.sh", "echo")
	for _, c := range []struct {
		change func(*runner.Order)
		class  runner.Class
		want   string
	}{
		{func(o *runner.Order) { o.Dir = "/no/such/dir" }, runner.Fatal, "/no/such/dir"},
		{func(o *runner.Order) { o.Script.Path = "/no/such/A.sh" }, runner.Fatal, "/no/such/A.sh"},
		{func(o *runner.Order) {
			o.Script.Path = filepath.Join(t.TempDir(), "PIPE.sh")
			assert.NilError(t, syscall.Mkfifo(o.Script.Path, 0o600))
		}, runner.Fatal, "PIPE.sh"},
		{func(o *runner.Order) { o.Env = []string{"A=" + strings.Repeat("x", 1<<20)} }, runner.Fatal, "argument list too long"},
		{func(o *runner.Order) { rename(t, o, ".bat") }, runner.Machine, "cmd.exe not found; batch files run on Windows only"},
		{func(o *runner.Order) { rename(t, o, ".txt") }, runner.Fatal, `no interpreter for ".txt"`},
	} {
		o := good
		c.change(&o)
		answer, f := failure(t, o)
		if f.Class != c.class || !strings.Contains(f.Message, c.want) || answer.ExitCode != -1 {
			t.Errorf("want %s %q\ngot  %s %q, code %d", c.class, c.want, f.Class, f.Message, answer.ExitCode)
		}
	}
}

// rename replaces the script of an order with one that has another extension.
func rename(t *testing.T, o *runner.Order, ext string) {
	t.Helper()
	o.Script.Path = order(t, "A"+ext, "echo").Script.Path
}

// TestPowerShellGetsFile checks the arguments with which PowerShell is started.
func TestPowerShellGetsFile(t *testing.T) {
	bin := t.TempDir()
	fake := "#!/bin/bash\nprintf '%s,' \"$@\"\n"
	assert.NilError(t, os.WriteFile(filepath.Join(bin, "powershell"), []byte(fake), 0o700))
	t.Setenv("PATH", bin)
	o := order(t, "A.ps1", "\r\n")
	answer, err := base.Run(context.Background(), o, silent)
	if want := "-NoProfile,-NonInteractive,-File," + o.Script.Path + ","; err != nil || answer.Text != want {
		t.Errorf("got %q, %v, want %q", answer.Text, err, want)
	}
}
