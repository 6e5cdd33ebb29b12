package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// TestExitDescribesTheEnd checks the exit code, the signal and the stderr in an Exit.
func TestExitDescribesTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role, args string
		want       Exit
	}{
		{"exit", "0", Exit{}},
		{"exit", "3", Exit{Code: 3}},
		{"exit", "255", Exit{Code: 255}},
		{"die", "9", Exit{Code: -1, Signal: "SIGKILL"}},
		{"die", "15", Exit{Code: -1, Signal: "SIGTERM"}},
		{"complain", "oh no", Exit{StderrTail: []byte("oh no")}},
	} {
		e := run(t, part(c.role, c.args))
		if e.Code != c.want.Code || e.Signal != c.want.Signal || e.Ended != ByItself || !bytes.Equal(e.StderrTail, c.want.StderrTail) {
			t.Errorf("%s %s\ngot  %+v\nwant %+v", c.role, c.args, e, c.want)
		}
	}
}

// TestStdinIsComplete checks that a child gets all bytes of Stdin.
func TestStdinIsComplete(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 100, 3 << 20} {
		s := part("cat", "")
		s.Stdin = bytes.Repeat([]byte("0123456789\x00\n"), size/12+1)[:size]
		var out bytes.Buffer
		s.Stdout = &out
		if e := run(t, s); e.Code != 0 || !bytes.Equal(out.Bytes(), s.Stdin) {
			t.Errorf("%d bytes of stdin: got %d bytes back, %+v", size, out.Len(), e)
		}
	}
}

// TestUnreadStdinDoesNotHang checks that Run returns if no process reads Stdin.
func TestUnreadStdinDoesNotHang(t *testing.T) {
	t.Parallel()
	s := part("exit", "0")
	s.Stdin = make([]byte, 10<<20)
	assert.Check(t, is.Equal(run(t, s).Code, 0))
	// The grandchild inherits stdin, doesn't read it and outlives the child. Run ends it.
	s = part("parent", "plain -- linger")
	s.Stdin = make([]byte, 10<<20)
	if e := run(t, s); e.Code != 0 || e.Swept != 1 {
		t.Errorf("got %+v", e)
	}
}

// TestEnvironmentIsExact checks that a child gets exactly the variables in Env and its mark, each name
// once.
func TestEnvironmentIsExact(t *testing.T) {
	t.Parallel()
	s := part("env", "")
	mark := MarkVar + "=" + s.Mark
	s.Env = []string{roleVar + "=env", noSleep, "A=1", MarkVar + "=outer", "B=2", "A=3"}
	var out bytes.Buffer
	s.Stdout = &out
	run(t, s)
	want := []string{roleVar + "=env", noSleep, "B=2", "A=3", mark}
	got := strings.Split(out.String(), "\n")
	assert.Check(t, is.DeepEqual(got, want), "given %q\ngot  %q\nwant %q", s.Env, got, want)
}

// TestLadderClimbsUntilTheChildEnds checks that a child that is stopped gets signals until one of them
// ends it.
func TestLadderClimbsUntilTheChildEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ role, args, signal string }{
		{"linger", "", "SIGINT"},
		{"stubborn", "2", "SIGTERM"},
		{"stubborn", "2 15", "SIGKILL"},
		{"polite", "", ""},
	} {
		s, a := part(c.role, c.args), announced()
		s.Stdout = a
		r := inBackground(t, s)
		pid := a.next(t)
		r.stop(nil)
		e := r.wait(t)
		if e.Signal != c.signal || e.Ended != ByStop || (e.Code == 0) != (c.signal == "") {
			t.Errorf("%s %s: got %+v, want signal %q", c.role, c.args, e, c.signal)
		}
		wantGone(t, pid)
	}
}

// hurry is a cause of a stop. Its Patience determines how long a child has before it is killed.
type hurry struct{ kill time.Duration }

func (hurry) Error() string { return "hurry" }

func (h hurry) Patience() (term, kill time.Duration) { return time.Millisecond, h.kill }

// TestStopHastensAnEndingChild checks that a child that is already being ended is ended faster if the
// context is then cancelled with a cause that requests it.
func TestStopHastensAnEndingChild(t *testing.T) {
	t.Parallel()
	s, a := part("teller", ""), announced()
	finished := make(chan struct{})
	s.Stdout, s.Finished = a, finished
	s.Ladder = Ladder{Term: time.Hour, Kill: time.Hour}
	r := inBackground(t, s)
	a.next(t)
	close(finished)
	assert.Equal(t, a.next(t), int(syscall.SIGINT), "the signal that the ladder began with")
	r.stop(fmt.Errorf("wrapped: %w", hurry{time.Millisecond}))
	if e := r.wait(t); e.Signal != "SIGKILL" || e.Ended != ByLateExit {
		t.Errorf("got %+v", e)
	}
}

// TestStopBeforeTheStartStartsNothing checks that Run starts no process if its context is done.
func TestStopBeforeTheStartStartsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := part("print", "x")
	var out bytes.Buffer
	s.Stdout = &out
	if e, err := Run(ctx, s); err != nil || e.Ended != ByStop || out.Len() > 0 {
		t.Errorf("got %+v, %v, %q", e, err, out.String())
	}
}

// TestOutputCountsAsActivity checks that output on stdout or stderr restarts the idle timeout.
func TestOutputCountsAsActivity(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]bool{"print": true, "complain": true, "exit": false} {
		s := part(role, "0")
		s.Stdout = io.Discard
		c, err := begin(s)
		assert.NilError(t, err)
		c.supervise(t.Context())
		assert.Check(t, is.Equal(c.activity.Load() > 0, want), "%s: output was heard", role)
	}
}

// TestTimeoutsEndTheChild checks the timeout and the idle timeout. Time in which the child waits for
// this program must not count as idle time.
func TestTimeoutsEndTheChild(t *testing.T) {
	t.Parallel()
	const limit = 200 * time.Millisecond
	for want, change := range map[EndReason]func(*Options) (least time.Duration){
		ByTimeout: func(s *Options) time.Duration { s.Timeout = limit; return limit },
		ByIdle: func(s *Options) time.Duration {
			until := time.Now().Add(5 * limit)
			s.Idle, s.LastWait = limit, func() time.Time { return time.Unix(0, min(time.Now().UnixNano(), until.UnixNano())) }
			return 6 * limit
		},
	} {
		s, began := part("linger", ""), time.Now()
		least := change(&s)
		if e := run(t, s); e.Ended != want || time.Since(began) < least {
			t.Errorf("got %+v, want it ended by %v", e, want)
		}
	}
}

// If tracedVar is set, the test binary lets its parent trace it, and then stops.
const tracedVar = "PROC_TEST_TRACED"

func init() { // init runs on the first thread, whose state the parent checks
	if os.Getenv(tracedVar) == "" {
		return
	}
	ready()
	_, _, _ = syscall.RawSyscall(syscall.SYS_PTRACE, syscall.PTRACE_TRACEME, 0, 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(os.Getpid()), uintptr(syscall.SIGUSR1))
	linger()
}

// isTraced reports whether a process has been stopped by its tracer.
func isTraced(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") t "))
}

// TestStoppedTracedChildHasNotEnded checks that a stopped child is not taken for an ended one. If a
// child lets its parent trace it, the kernel reports its stops in the same way as its exit.
func TestStoppedTracedChildHasNotEnded(t *testing.T) {
	t.Parallel()
	s, output := part("linger", ""), announced()
	s.Env, s.Stdout = append(s.Env, tracedVar+"=1"), output
	r := inBackground(t, s)
	pid := output.next(t)
	for began := time.Now(); !isTraced(pid); time.Sleep(time.Millisecond) {
		assert.Assert(t, time.Since(began) <= 2*time.Minute, "the child did not stop within two minutes")
	}
	r.stop(errors.New("enough"))
	assert.Check(t, is.Equal(r.wait(t).Ended, ByStop))
	wantGone(t, pid)
}

// failingWriter is a writer that returns an error after a limited number of bytes.
type failingWriter struct{ left int }

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("enough")
	}
	return len(p), nil
}

// TestFailingWriters checks that a child is ended if the writer for its stdout fails, but not if the
// writer for its stderr fails. A writer that has failed must not be called again.
func TestFailingWriters(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]EndReason{"stdout": ByWriter, "stderr": ByItself} {
		s, w := part("flood", "50 "+stream), &failingWriter{left: 1 << 20}
		if stream == "stdout" {
			s.Stdout = w
		} else {
			s.Stderr = w
		}
		if e := run(t, s); e.Ended != want || want == ByItself && len(e.StderrTail) != StderrTailSize {
			t.Errorf("%s: got %+v, want it ended by %v", stream, e, want)
		}
		assert.Check(t, w.left+32<<10 >= 0, "%s: the writer was called again after it refused: %+v", stream, w)
	}
}

// TestStartErrorsNameTheFile checks that an error of Run contains the cause and the name of the file or
// directory.
func TestStartErrorsNameTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	assert.NilError(t, os.WriteFile(plain, []byte("x"), 0o600))
	huge := strings.Repeat("x", 200<<10)
	for name, c := range map[string]struct {
		options  Options
		wantErr  error
		wantText string
	}{
		"program":        {Options{Path: "/no/such/program"}, fs.ErrNotExist, "/no/such/program"},
		"name":           {Options{Path: "no-such-program"}, exec.ErrNotFound, "no-such-program"},
		"not executable": {Options{Path: plain}, fs.ErrPermission, plain},
		"directory":      {Options{Path: "/bin/true", Dir: "/no/such/dir"}, fs.ErrNotExist, "/no/such/dir"},
		"not a dir":      {Options{Path: "/bin/true", Dir: plain}, nil, plain},
		"too long":       {Options{Path: "/bin/true", Args: []string{huge}}, syscall.E2BIG, "/bin/true"},
		"in a cage":      {Options{Path: "/no/such/program", Mark: newMark(), Cage: cage.New(cage.Policy{})}, fs.ErrNotExist, "no such file"},
	} {
		e, err := Run(context.Background(), c.options)
		if err == nil || c.wantErr != nil && !errors.Is(err, c.wantErr) || !strings.Contains(err.Error(), c.wantText) {
			t.Errorf("%s: got %v, want %v naming %s", name, err, c.wantErr, c.wantText)
		}
		assert.Check(t, is.Equal(e.Code, -1), "%s: code", name)
	}
}

// TestPipesOpenElsewhereDontHang checks that Run doesn't wait for a process that has the child's pipes
// open and is not its descendant.
func TestPipesOpenElsewhereDontHang(t *testing.T) {
	t.Parallel()
	s, a := part("polite", ""), announced()
	s.Stdout, s.Stdin = a, make([]byte, 1<<20)
	s.Ladder = Ladder{Term: time.Minute, Kill: time.Minute}
	r := inBackground(t, s)
	pid := a.next(t)
	for fd, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_WRONLY} {
		f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", pid, fd), flag, 0)
		assert.NilError(t, err)
		defer f.Close()
	}
	r.stop(nil)
	if e := r.wait(t); e.Code != 0 || e.Ended != ByStop {
		t.Errorf("got %+v", e)
	}
}

// TestInterruptGroupReachesGrandchildren checks that a grandchild gets SIGINT only with InterruptGroup.
func TestInterruptGroupReachesGrandchildren(t *testing.T) {
	t.Parallel()
	for _, group := range []bool{true, false} {
		s, a := part("parent", "until-usr1 -- polite"), announced()
		s.Stdout, s.InterruptGroup = a, group
		s.Ladder = Ladder{Term: time.Minute, Kill: time.Minute}
		r := inBackground(t, s)
		grandchild := a.next(t)
		a.next(t)
		r.stop(nil)
		// SIGINT ends the parent. If the grandchild gets SIGINT too, it exits by itself. Otherwise, Run ends it.
		e := r.wait(t)
		assert.Check(t, e.Signal == "SIGINT" && (group || e.Swept == 1), "group %v: got %+v", group, e)
		wantGone(t, grandchild)
	}
}
