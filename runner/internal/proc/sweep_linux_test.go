package proc

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/internal/waited"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// Not parallel: an orphan without a mark is ended when no older child is left.
func TestNothingOutlivesRun(t *testing.T) {
	for _, args := range []string{
		"plain -- linger",
		"leaky -- linger",
		"setsid leaky -- linger",
		"wiped -- linger",
		"setsid wiped leaky -- linger",
		"setsid leaky -- stubborn 2 15",
		"setsid -- parent setsid wiped -- linger",
		"plain -- parent setsid leaky lingering -- stubborn 2 15",
		"setsid wiped -- parent wiped lingering -- parent lingering wiped -- stubborn 15",
	} {
		s, a := part("parent", args), announced()
		s.Stdout = a
		e := run(t, s)
		pid := a.next(t)
		if e.Ended != ByItself || e.Code != 0 || e.Swept == 0 || e.Left != 0 {
			t.Errorf("%s\ngot %+v", args, e)
		}
		wantGone(t, pid)
		wantNoStrays(t, args)
	}
}

// Not parallel, see above.
func TestNothingOutlivesAForcedEnd(t *testing.T) {
	for _, args := range []string{
		"lingering leaky setsid -- stubborn 2 15",
		"lingering leaky setsid wiped -- parent setsid wiped -- linger",
	} {
		s, a := part("parent", args), announced()
		s.Stdout = a
		r := inBackground(t, s)
		pid := a.next(t)
		r.stop(nil)
		if e := r.wait(t); e.Ended != ByStop || e.Swept == 0 {
			t.Errorf("%s\ngot %+v", args, e)
		}
		wantGone(t, pid)
		wantNoStrays(t, args)
	}
}

func wantNoStrays(t *testing.T, after string) {
	t.Helper()
	family.mu.Lock()
	defer family.mu.Unlock()
	if left, _ := strays(); len(left) > 0 {
		t.Errorf("after %s: strays %v are left", after, left)
	}
	if len(family.kin) > 0 {
		t.Errorf("after %s: %d children are still known", after, len(family.kin))
	}
}

// An orphan that has moved away is only found by what it carries or descends
// from. While two children run, each loses only its own.
func TestSiblingsAreNotSwept(t *testing.T) {
	for _, how := range []string{"setsid leaky", "plain"} {
		first, a := part("parent", how+" until-usr1 -- linger"), announced()
		first.Stdout = a
		one := inBackground(t, first)
		kept, parent := a.next(t), a.next(t)

		for _, forced := range []bool{false, true} {
			second, b := part("parent", how+" lingering -- linger"), announced()
			if !forced {
				second = part("parent", how+" -- linger")
			}
			second.Stdout = b
			two := inBackground(t, second)
			swept := b.next(t)
			if forced {
				two.stop(nil)
			}
			two.wait(t)
			wantGone(t, swept)
			if !alive(kept) || !alive(parent) {
				t.Errorf("%s: a sibling was ended (forced: %v)", how, forced)
			}
		}
		kill(parent, syscall.SIGUSR1)
		if e := one.wait(t); e.Swept != 1 {
			t.Errorf("%s: got %+v", how, e)
		}
		wantGone(t, kept)
	}
}

// The orphan of a running child is not touched when a sibling ends.
func TestOrphansOfSiblingsAreNotSwept(t *testing.T) {
	first, a := part("parent", "until-usr1 -- parent setsid -- linger"), announced()
	first.Stdout = a
	one := inBackground(t, first)
	orphan, parent := a.next(t), a.next(t)
	waitAdopted(t, orphan)
	if e := run(t, part("parent", "setsid -- linger")); e.Swept != 1 {
		t.Errorf("got %+v", e)
	}
	if !alive(orphan) {
		t.Errorf("the orphan %d of a sibling was ended", orphan)
	}
	kill(parent, syscall.SIGUSR1)
	one.wait(t)
	wantGone(t, orphan)
}

// An orphan without a mark might come from any child that is older. It stays
// until the last of them ends.
func TestOrphanWithoutMarkBelongsToTheOlderChildren(t *testing.T) {
	older := inBackground(t, lingerer())
	s, a := part("parent", "setsid wiped -- linger"), announced()
	s.Stdout = a
	run(t, s)
	orphan := a.next(t)
	if !alive(orphan) {
		t.Error("an orphan that may come from an older sibling was ended")
	}
	older.stop(nil)
	older.wait(t)
	wantGone(t, orphan)
}

func TestYoungerChildrenHaveNoClaimOnAnOrphan(t *testing.T) {
	s, a := part("parent", "setsid wiped until-usr1 -- linger"), announced()
	s.Stdout = a
	r := inBackground(t, s)
	orphan, parent := a.next(t), a.next(t)
	wantOlder(t, orphan)
	younger := inBackground(t, lingerer())
	kill(parent, syscall.SIGUSR1)
	r.wait(t)
	wantGone(t, orphan)
	younger.stop(nil)
	younger.wait(t)
}

// wantOlder returns when new processes are younger than pid by the kernel's count.
func wantOlder(t *testing.T, pid int) {
	t.Helper()
	for old, _ := readStat(pid); ; {
		s, a := part("polite", ""), announced()
		s.Stdout = a
		r := inBackground(t, s)
		young, _ := readStat(a.next(t))
		r.stop(nil)
		r.wait(t)
		if young.born > old.born {
			return
		}
	}
}

// lingerer is a child without a mark of its own that has been started for sure.
func lingerer() Options {
	s := part("linger", "")
	s.MarkVar, s.Mark = "", ""
	return s
}

// What other code of this program starts is neither ended nor collected.
func TestChildrenOfOthersAreLeftAlone(t *testing.T) {
	older, a := part("parent", "until-usr1 -- linger"), announced()
	older.Stdout = a
	r := inBackground(t, older)
	a.next(t)
	parent := a.next(t)

	cmd := foreign(t, newMark(), onDyingThread)
	kill(parent, syscall.SIGUSR1) // could have started it, by its age
	r.wait(t)
	if !alive(cmd.Process.Pid) {
		t.Error("a foreign child was ended")
	}
	kill(cmd.Process.Pid, syscall.SIGTERM)
	waitDead(t, cmd.Process.Pid)
	run(t, part("parent", "setsid wiped -- linger"))
	reapStrays()
	if err := cmd.Wait(); err == nil || cmd.ProcessState == nil || signalName(cmd.ProcessState.Sys().(syscall.WaitStatus)) != "SIGTERM" {
		t.Errorf("a foreign child was collected: %v, %v", err, cmd.ProcessState)
	}
}

// A child in a group of its own, which only package waited tells from an orphan, is
// left to the code that waits for it.
func TestKnownChildrenAreLeftAlone(t *testing.T) {
	older, a := part("parent", "until-usr1 -- linger"), announced()
	older.Stdout = a
	r := inBackground(t, older)
	a.next(t)
	parent := a.next(t)

	cmd := foreign(t, newMark(), func(cmd *exec.Cmd) error {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return waited.Start(func() (*os.Process, error) {
			err := onDyingThread(cmd)
			return cmd.Process, err
		})
	})
	kill(parent, syscall.SIGUSR1) // could have started it, by its age
	r.wait(t)
	if !alive(cmd.Process.Pid) {
		t.Error("a known child was ended")
	}
	kill(cmd.Process.Pid, syscall.SIGTERM)
	waitDead(t, cmd.Process.Pid)
	run(t, part("parent", "setsid wiped -- linger"))
	reapStrays()
	if err := cmd.Wait(); err == nil || cmd.ProcessState == nil || signalName(cmd.ProcessState.Sys().(syscall.WaitStatus)) != "SIGTERM" {
		t.Errorf("a known child was collected: %v, %v", err, cmd.ProcessState)
	}
	waited.Forget(cmd.Process)
}

// After a forced end the mark counts, wherever it is found.
func TestForcedEndFindsTheMarkEverywhere(t *testing.T) {
	s := part("linger", "")
	cmd := foreign(t, s.Mark, (*exec.Cmd).Start)
	s.Timeout = 50 * time.Millisecond
	if e := run(t, s); e.Swept != 1 {
		t.Errorf("got %+v", e)
	}
	wantGone(t, cmd.Process.Pid)
	_ = cmd.Wait()
}

// TestForcedEndFindsTheMarkInOtherTrees: a process that carries it is found, though its
// parent is one that Run does not look below.
func TestForcedEndFindsTheMarkInOtherTrees(t *testing.T) {
	s := part("linger", "")
	cmd := exec.Command("/bin/sh", "-c", markVar+"="+s.Mark+" sleep 300 & echo $!; wait")
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(from).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s.Timeout = 50 * time.Millisecond
	if e := run(t, s); e.Swept != 1 {
		t.Errorf("got %+v, want one process that was swept", e)
	}
	_ = cmd.Wait() // of its parent, which collects it
	wantGone(t, number(strings.TrimSpace(line)))
}

// foreign starts a process that Run knows nothing of.
func foreign(t *testing.T, mark string, start func(*exec.Cmd) error) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), noSleep, roleVar+"=linger", markVar+"="+mark)
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if _, err := from.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// onDyingThread starts a process from a thread that ends at once. This makes it
// a child of the first thread, where orphans are too.
func onDyingThread(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock
		started <- cmd.Start()
	}()
	return <-started
}

// waitDead returns when a process has died, collected or not.
func waitDead(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // collected
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 120_000)
	if n != 1 {
		t.Fatalf("process %d did not die within two minutes: %v", pid, err)
	}
}

// waitAdopted returns when a process has become a child of this one.
func waitAdopted(t *testing.T, pid int) {
	t.Helper()
	if p, ok := readStat(pid); ok && p.ppid != os.Getpid() {
		waitDead(t, p.ppid)
	}
}

// The orphans of a long-lived child that die early are collected while it runs.
func TestDeadOrphansDoNotPileUp(t *testing.T) {
	s, a := part("parent", "until-usr1 -- parent setsid -- linger"), announced()
	s.Stdout = a
	r := inBackground(t, s)
	orphan, parent := a.next(t), a.next(t)
	waitAdopted(t, orphan)
	kill(orphan, syscall.SIGKILL)
	waitDead(t, orphan)
	reapStrays()
	wantGone(t, orphan)
	kill(parent, syscall.SIGUSR1)
	if e := r.wait(t); e.Swept != 0 {
		t.Errorf("got %+v", e)
	}
}

func TestManyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 6)
	for i := range 60 {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			var out strings.Builder
			s := Options{
				Path: "/bin/bash", MarkVar: markVar, Mark: newMark(), Stdout: &out,
				Args: []string{"-c", "sleep 300 & echo $!; setsid sleep 300 & echo $!"},
				Env:  []string{"PATH=/usr/bin:/bin"},
			}
			e, err := Run(context.Background(), s)
			left := strings.Fields(out.String())
			if err != nil || e.Code != 0 || e.Left != 0 || len(left) != 2 {
				t.Errorf("run %d: %+v, %v, %q", i, e, err, left)
			}
			for _, pid := range left {
				wantGone(t, number(pid))
			}
		})
	}
	wg.Wait()
	wantNoStrays(t, "all")
}

// A process that dies without a word leaves nothing that a later Sweep does not
// find: its child gets the death signal, and a tool that moved away has the mark.
func TestSweepAfterACrash(t *testing.T) {
	for _, bound := range []string{"", "1"} {
		crash(t, boundVar+"="+bound)
	}
}

func crash(t *testing.T, env string) {
	mark := newMark()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), noSleep, markVar+"="+mark, roleVar+"=conductor",
		argsVar+"=parent setsid lingering -- stubborn 2 15", env)
	a := announced()
	cmd.Stdout, cmd.Stderr = a, os.Stderr
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tool := a.next(t)
	stat, _ := readStat(tool)
	kill(cmd.Process.Pid, syscall.SIGKILL)
	waitDead(t, cmd.Process.Pid)
	waitDead(t, stat.ppid) // by the death signal
	reapStrays()
	wantGone(t, stat.ppid)
	if !alive(tool) {
		t.Error("the tool should have survived the crash, for the sake of this test")
	}
	n, err := Sweep(context.Background(), markVar, mark)
	if n != 1 || err != nil {
		t.Errorf("Sweep: got %d, %v, want 1", n, err)
	}
	wantGone(t, tool)
	_ = cmd.Wait()
}

func TestSweepKnowsTheBoundary(t *testing.T) {
	prefix := newMark() + "x"
	for suffix, want := range map[string]bool{"": true, ".1": true, "-b": true, "1": false, "y": false, "é": false} {
		pid := orphan(t, prefix+suffix, "linger")
		if n, err := Sweep(context.Background(), markVar, prefix); err != nil || (n == 1) != want {
			t.Errorf("Sweep %q with %q around: got %d, %v, want it ended: %v", prefix, prefix+suffix, n, err, want)
		}
		if alive(pid) == want {
			t.Errorf("Sweep %q with %q around: alive: %v", prefix, prefix+suffix, alive(pid))
		}
		if !want {
			kill(pid, syscall.SIGKILL)
			waitDead(t, pid)
			reapStrays()
		}
	}
}

// orphan starts a process that Run knows nothing of.
func orphan(t *testing.T, mark, part string) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), noSleep, markVar+"="+mark, roleVar+"=parent", argsVar+"=setsid -- "+part)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return number(strings.TrimSpace(string(out)))
}

// A run may be resumed by something that the run itself started.
func TestSweepSparesItsOwnAncestors(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	mark := newMark()
	cmd.Env = append(os.Environ(), noSleep, markVar+"="+mark, roleVar+"=parent", argsVar+"=waiting -- sweeper "+mark)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "0 <nil>\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestSweepObeysItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	mark := newMark()
	pid := orphan(t, mark+".1", "stubborn 15")
	if _, err := Sweep(ctx, markVar, mark); err == nil {
		t.Error("a sweep that was cut short reports no error")
	}
	if _, err := Sweep(context.Background(), markVar, mark); err != nil {
		t.Error(err)
	}
	wantGone(t, pid)
}

// TestSweepFindsWhatIsInACage: an empty environment doesn't help a process whose
// invocation a crash cut off.
func TestSweepFindsWhatIsInACage(t *testing.T) {
	run := newMark()
	e, err := cage.New(cage.Policy{Writable: []string{os.DevNull}, Network: cage.Network{IsOpen: true}}).Enter("/bin/sh", cage.Mark(run+".7"))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	cmd := exec.Command(cage.Program)
	cmd.Args, cmd.Env, cmd.ExtraFiles = e.Arguments([]string{"sh", "-c", "exec sleep 300"}), []string{"PATH=/usr/bin:/bin"}, []*os.File{e.File()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := errors.Join(cmd.Start(), e.Follow()); err != nil {
		t.Fatal(err)
	}
	if n, err := Sweep(context.Background(), markVar, run); n != 1 || err != nil {
		t.Errorf("Sweep: got %d, %v, want 1", n, err)
	}
	wantGone(t, cmd.Process.Pid)
	_ = cmd.Wait()
}
