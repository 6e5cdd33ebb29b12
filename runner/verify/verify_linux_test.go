package verify

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// secret is the value of variables that must not be seen.
const secret = "s3cr3t-0123456789"

var base = Verifier{Env: []string{
	"PATH=/usr/bin:/bin", "HOME=/nowhere", "LANG=C.UTF-8", "WHO=base", "ANTHROPIC_API_KEY=" + secret,
	"GITHUB_TOKEN=token-" + secret, "db_password=pass-" + secret, "SHORT_TOKEN=x",
}}

var marks atomic.Int64

// checks are those of commands that run in a new folder.
func checks(t *testing.T, commands ...string) runner.Checks {
	t.Helper()
	dir := t.TempDir()
	return runner.Checks{
		Commands: commands, Timeout: 4 * time.Minute, Dir: dir, Attempt: 1,
		Env: []string{"RAYMOND_STATE=A.md", "WHO=order"}, LogFile: filepath.Join(dir, "logs", "main", "A.md.log"),
		Mark: fmt.Sprintf("verify-test-%d.%d", os.Getpid(), marks.Add(1)),
	}
}

// quietly is told what a verification does.
func quietly(runner.Progress) {}

// verified runs commands to their end.
func verified(t *testing.T, c runner.Checks) []state.CommandResult {
	t.Helper()
	v := base.Verify(t.Context(), c, quietly)
	if v.Stopped != "" || len(v.Results) != len(c.Commands) {
		t.Fatalf("%q: got %d results, stopped %q, want one for each command", c.Commands, len(v.Results), v.Stopped)
	}
	return v.Results
}

// TestCommandsAreToldWhenTheyBegin: each before anything of it can be seen.
func TestCommandsAreToldWhenTheyBegin(t *testing.T) {
	c, began := checks(t, "echo >>seen; false", "echo >>seen"), []string{}
	base.Verify(t.Context(), c, func(p runner.Progress) {
		seen, _ := os.ReadFile(filepath.Join(c.Dir, "seen"))
		began = append(began, fmt.Sprint(len(seen), " ", p.Doing))
	})
	if diff := cmp.Diff([]string{"0 checking echo >>seen; false", "1 checking echo >>seen"}, began); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// one is the result of a single command.
func one(t *testing.T, command string) state.CommandResult {
	t.Helper()
	return verified(t, checks(t, command))[0]
}

// gone checks that the process whose id a command wrote is not there any more.
func gone(t *testing.T, c runner.Checks, file string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.Dir, file))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		if isThere(pid) {
			t.Errorf("%q: process %d is still there", c.Commands, pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// isThere reports whether a process has not ended. One that has may wait to be collected, by
// whoever does that on this machine.
func isThere(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(after, []byte("Z")) && !bytes.HasPrefix(after, []byte("X"))
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{
		"true": 0, "exit 3": 3, "false || true": 0, "exit 255": 255,
		"no-such-command-anywhere": 127, "/no/such/file": 127, "/etc/passwd": 126,
		"kill -SEGV $$": 139, "kill -KILL $$": 137, "bash -c 'kill -SEGV $$'; exit $?": 139, "kill -TERM $$; exit 7": 143,
		"cat": 0, "read line": 1, "[[ -t 0 ]]": 1, "syntax (error": 2,
	} {
		r := one(t, command)
		if r.RC != want || r.Cmd != command || r.RC == 0 && r.Tail != "" {
			t.Errorf("%s: got %+v, want rc %d", command, r, want)
		}
	}
}

// TestTimeoutEndsTheWholeGroup, also what ignores polite signals or has moved to
// a session of its own.
func TestTimeoutEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"echo $$ >pids; echo said; sleep 300",
		"sleep 300 & echo $$ $! >pids; echo said; wait",
		"trap '' INT TERM; (trap '' INT TERM; echo $BASHPID >>pids; sleep 300) & echo $$ >>pids; echo said; while :; do wait; done",
		"setsid sleep 300 & echo $! >pids; echo said; sleep 300",
		"trap 'exit 0' INT; echo $$ >pids; echo said; while :; do sleep 0.05; done",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			c, got := checks(t, command, "echo next; false"), []state.CommandResult(nil)
			// On a busy machine the time may be over before a command has said anything.
			for c.Timeout = 300 * time.Millisecond; c.Timeout < time.Minute; c.Timeout *= 2 {
				got = verified(t, c)
				if got[0].Tail == "said\n" && got[1].RC != 124 {
					break
				}
			}
			if r := got[0]; r.RC != 124 || r.Tail != "said\n" || r.DurationS < 0.3 {
				t.Errorf("%s\ngot  %+v\nwant rc 124 after 0.3 s, and what it said", command, r)
			}
			if r := got[1]; r.RC != 1 || r.Tail != "next\n" {
				t.Errorf("%s\nthe command after it: got %+v, want rc 1", command, r)
			}
			gone(t, c, "pids")
		})
	}
}

func TestBackgroundChildrenAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"sleep 300 & echo $! >pids",
		"(sleep 300 & echo $! >pids) & wait; true",
		"setsid bash -c 'echo $$ >pids; exec sleep 300' & until [ -s pids ]; do :; done",
		"nohup sleep 300 >/dev/null 2>&1 & echo $! >pids",
	} {
		c := checks(t, command)
		if r := verified(t, c)[0]; r.RC != 0 {
			t.Errorf("%s: got %+v, want rc 0 before its time is over", command, r)
		}
		gone(t, c, "pids")
	}
}

// TestEverythingRunsInOrder in the agent's directory, also after one failed, and
// sees what the agent wrote and what earlier commands did.
func TestEverythingRunsInOrder(t *testing.T) {
	t.Parallel()
	c := checks(t, "echo a >>trace; cat made-by-agent", "echo b >>trace; exit 2", "echo c >>trace; [ \"$PWD\" -ef . ] && cat trace; exit 1", "test -f trace")
	if err := os.WriteFile(filepath.Join(c.Dir, "made-by-agent"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range verified(t, c) {
		got = append(got, fmt.Sprint(r.RC, " ", r.Tail))
	}
	if diff := cmp.Diff([]string{"0 ", "2 ", "1 a\nb\nc\n", "0 "}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestNoSecretIsInTheEnvironment, and what the order adds is.
func TestNoSecretIsInTheEnvironment(t *testing.T) {
	t.Parallel()
	r := one(t, "env; exit 1")
	for _, bad := range []string{secret, "API_KEY", "TOKEN", "password"} {
		if strings.Contains(r.Tail, bad) {
			t.Errorf("environment: got %q in\n%s", bad, r.Tail)
		}
	}
	for _, good := range []string{"RAYMOND_STATE=A.md\n", "WHO=order\n", "HOME=/nowhere\n", "RAYMOND_MARK=verify-test-"} {
		if !strings.Contains(r.Tail, good) {
			t.Errorf("environment: want %q in\n%s", good, r.Tail)
		}
	}
	if strings.Contains(r.Tail, "WHO=base") {
		t.Errorf("environment: got WHO twice:\n%s", r.Tail)
	}
}

// TestTails holds the end of the output, to the byte.
func TestTails(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for command, want := range map[string]state.CommandResult{
		"exit 1": {},
		"echo x": {RC: -1},
		"head -c 4095 /dev/zero | tr '\\0' x; exit 1":                          {Tail: x(4095)},
		"head -c 4096 /dev/zero | tr '\\0' x; exit 1":                          {Tail: x(4096)},
		"head -c 4097 /dev/zero | tr '\\0' x; exit 1":                          {Tail: x(4096), Truncated: true},
		"echo first; head -c 4095 /dev/zero | tr '\\0' x; echo; exit 1":        {Tail: x(4095) + "\n", Truncated: true},
		"head -c 9000 /dev/zero | tr '\\0' y; echo -n end >&2; exit 1":         {Tail: strings.Repeat("y", 4093) + "end", Truncated: true},
		"for i in {1..2049}; do printf é; done; exit 1":                        {Tail: strings.Repeat("é", 2048), Truncated: true},
		"for i in {1..2049}; do printf é; done; printf z; exit 1":              {Tail: strings.Repeat("é", 2047) + "z", Truncated: true},
		"for i in {1..1500}; do printf 語; done; printf zz; exit 1":             {Tail: strings.Repeat("語", 1364) + "zz", Truncated: true},
		"printf 'é%.0s' {1..2048}; exit 1":                                     {Tail: strings.Repeat("é", 2048)},
		"echo out; echo err >&2; echo out; echo err >&2; exit 1":               {Tail: "out\nerr\nout\nerr\n"},
		"python3 -c 'print(1)' >/dev/null; printf 'no line break' >&2; exit 9": {Tail: "no line break"},
	} {
		r := one(t, command)
		if want.RC < 0 { // no tail of a command that passes
			if r.RC != 0 || r.Tail != "" || r.Truncated {
				t.Errorf("%s: got %+v, want no tail", command, r)
			}
			continue
		}
		if r.RC == 0 || r.Tail != want.Tail || r.Truncated != want.Truncated || !utf8.ValidString(r.Tail) {
			t.Errorf("%s\ngot  rc %d, %d bytes %.60q, truncated %v\nwant %d bytes %.60q, %v", command, r.RC, len(r.Tail), r.Tail, r.Truncated, len(want.Tail), want.Tail, want.Truncated)
		}
	}
}

// Not parallel: the allocations of other tests would count.
func TestALotOfOutputNeedsBoundedMemory(t *testing.T) {
	c := checks(t, "yes 0123456789abcdef | head -c 100000000; yes 0123456789abcdef | head -c 100000000 >&2; exit 1")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := verified(t, c)[0]
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("200 MB of output: %d bytes were allocated, want at most 4 MiB", got)
	}
	if len(r.Tail) != 4096 || !r.Truncated || !strings.HasPrefix(strings.TrimPrefix(r.Tail[strings.IndexByte(r.Tail, '\n'):], "\n"), "0123456789abcdef\n") {
		t.Errorf("200 MB of output: got a tail of %d bytes %.40q, truncated %v", len(r.Tail), r.Tail, r.Truncated)
	}
	if info, err := os.Stat(c.LogFile); err != nil || info.Size() > 9<<20 {
		t.Errorf("log: got %v, %v, want at most 9 MiB", info.Size(), err)
	}
}

func TestDurationsAreMilliseconds(t *testing.T) {
	t.Parallel()
	r := one(t, "sleep 0.1234567")
	if ms := r.DurationS * 1000; r.DurationS < 0.123 || strconv.FormatFloat(r.DurationS, 'f', -1, 64) != strconv.FormatFloat(float64(int(ms+0.5))/1000, 'f', -1, 64) {
		t.Errorf("duration: got %v s, want whole milliseconds, at least 0.123", r.DurationS)
	}
}

func TestAMissingDirectoryIsAFailedCommand(t *testing.T) {
	t.Parallel()
	c := checks(t, "true")
	c.Dir = filepath.Join(c.Dir, "gone")
	if r := verified(t, c)[0]; r.RC != 127 || !strings.Contains(r.Tail, "gone") {
		t.Errorf("in a directory that is gone: got %+v, want rc 127 and the directory named", r)
	}
}

// TestStop: a verification that is ended has no results, and what it ran is gone.
func TestStop(t *testing.T) {
	t.Parallel()
	c := checks(t, "trap '' INT; echo $$ >pids; sleep 300 & echo $! >>pids; mkfifo ready; echo >ready; while :; do wait; done", "echo never >never")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for {
			if f, err := os.Open(filepath.Join(c.Dir, "ready")); err == nil {
				f.Close()
				break
			}
			<-time.After(time.Millisecond)
		}
		cancel(&runner.Stopping{Reason: "deadline", Term: 100 * time.Millisecond, Kill: 100 * time.Millisecond})
	}()
	began := time.Now()
	v := base.Verify(ctx, c, quietly)
	if v.Stopped != "deadline" || v.Results != nil || time.Since(began) > 2*time.Minute {
		t.Errorf("got %+v after %v, want it stopped by the deadline", v, time.Since(began))
	}
	gone(t, c, "pids")
	if _, err := os.Stat(filepath.Join(c.Dir, "never")); err == nil {
		t.Error("a command was started after the stop")
	}
	if v := base.Verify(ctx, c, quietly); v.Stopped != "deadline" {
		t.Errorf("stopped before it began: got %+v", v)
	}
}
