package proc

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// TestNothingOutlivesRun checks that Run ends all descendants of a child that has exited. It is not
// parallel, because an orphan without a mark is ended only when no older child is running.
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
		assert.Check(t, e.Ended == ByItself && e.Code == 0 && e.Swept != 0 && e.Survivors == 0, "%s\ngot %+v", args, e)
		wantGone(t, pid)
		wantNoStrays(t, args)
	}
}

// wantNoStrays fails the test if this process has strays or children that Run has started.
func wantNoStrays(t *testing.T, after string) {
	t.Helper()
	children.mu.Lock()
	defer children.mu.Unlock()
	left, _ := strays()
	assert.Check(t, is.Len(left, 0), "after %s: strays %v are left", after, left)
	assert.Check(t, is.Len(children.byID, 0), "after %s: %d children are still known", after, len(children.byID))
}

// TestSiblingsAreNotSwept checks that Run ends only its own child's orphans while another child is
// running. An orphan that has moved to another session can be found only by its mark or its ancestors.
func TestSiblingsAreNotSwept(t *testing.T) {
	for _, how := range []string{"setsid leaky", "plain"} {
		first, a := part("parent", how+" until-usr1 -- linger"), announced()
		first.Stdout = a
		one := inBackground(t, first)
		survivor, parent := a.next(t), a.next(t)

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
			assert.Check(t, alive(survivor), "%s: a sibling was ended (forced: %v)", how, forced)
			assert.Check(t, alive(parent), "%s: a sibling was ended (forced: %v)", how, forced)
		}
		kill(parent, syscall.SIGUSR1)
		assert.Check(t, is.Equal(one.wait(t).Swept, 1), how)
		wantGone(t, survivor)
	}
}

// TestOrphanWithoutMarkBelongsToTheOlderChildren checks that an orphan without a mark is ended when the
// last of the older children has ended, because it may come from any of them.
func TestOrphanWithoutMarkBelongsToTheOlderChildren(t *testing.T) {
	older := inBackground(t, lingerer())
	s, a := part("parent", "setsid wiped -- linger"), announced()
	s.Stdout = a
	run(t, s)
	orphan := a.next(t)
	assert.Check(t, alive(orphan), "an orphan that may come from an older sibling was ended")
	older.stop(nil)
	older.wait(t)
	wantGone(t, orphan)
}

// lingerer returns the options for a child without a mark that keeps running.
func lingerer() Options {
	s := part("linger", "")
	s.Mark = ""
	return s
}

// TestRegisteredChildrenAreSpared checks that Run doesn't end a child that is registered with package
// processes. Such a child in its own process group looks like an orphan, but other code waits for it.
func TestRegisteredChildrenAreSpared(t *testing.T) {
	older := inBackground(t, lingerer())
	cmd := exec.Command("sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	started := make(chan error)
	go func() {
		// When a thread ends, its children become children of the first thread, in the same way as orphans.
		runtime.LockOSThread()
		started <- processes.Start(func() (*os.Process, error) {
			err := cmd.Start()
			return cmd.Process, err
		})
	}()
	assert.NilError(t, <-started)
	older.stop(nil) // the older child could be the parent of the registered one
	older.wait(t)
	assert.Check(t, alive(cmd.Process.Pid), "a known child was ended")
	kill(cmd.Process.Pid, syscall.SIGTERM)
	waitDead(t, cmd.Process.Pid)
	reapStrays()
	if err := cmd.Wait(); err == nil || cmd.ProcessState == nil {
		t.Errorf("a known child was collected: %v, %v", err, cmd.ProcessState)
	}
	processes.Forget(cmd.Process)
}

// TestForcedEndFindsMarksEverywhere checks that if Run ends a child, it also ends processes that carry the
// child's mark but are not descendants of the child.
func TestForcedEndFindsMarksEverywhere(t *testing.T) {
	s := part("linger", "")
	cmd := exec.Command("/bin/sh", "-c", MarkVar+"="+s.Mark+" sleep 300 & echo $!; wait")
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	from, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	line, err := bufio.NewReader(from).ReadString('\n')
	assert.NilError(t, err)
	s.Timeout = 50 * time.Millisecond
	assert.Check(t, is.Equal(run(t, s).Swept, 1))
	_ = cmd.Wait() // cmd is the parent of the ended process and collects it
	wantGone(t, number(strings.TrimSpace(line)))
}

// waitDead waits until a process has died. The process may have been collected or not.
func waitDead(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // the process has been collected
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 120_000)
	assert.Equal(t, n, 1, "process %d did not die within two minutes: %v", pid, err)
}

// TestSweepAfterACrash checks that all processes are ended after this program was killed. The child ends
// by its death signal. Sweep finds a tool in another session by its mark.
func TestSweepAfterACrash(t *testing.T) {
	for _, bound := range []string{"", "1"} {
		mark := newMark()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), noSleep, MarkVar+"="+mark, roleVar+"=conductor",
			argsVar+"=parent setsid lingering -- stubborn 2 15", boundVar+"="+bound)
		a := announced()
		cmd.Stdout, cmd.Stderr = a, os.Stderr
		cmd.WaitDelay = time.Minute
		assert.NilError(t, cmd.Start())
		tool := a.next(t)
		stat, _ := processes.Stat(tool)
		kill(cmd.Process.Pid, syscall.SIGKILL)
		waitDead(t, cmd.Process.Pid)
		waitDead(t, stat.Parent) // the death signal ended the parent
		reapStrays()
		wantGone(t, stat.Parent)
		assert.Check(t, alive(tool), "the tool should have survived the crash, for the sake of this test")
		n, err := Sweep(mark)
		assert.Check(t, is.Equal(n, 1), "Sweep")
		assert.Check(t, err, "Sweep")
		wantGone(t, tool)
		_ = cmd.Wait()
	}
}

// TestSweepComparesWholeMarks checks that Sweep doesn't find marks that only begin with the same
// characters.
func TestSweepComparesWholeMarks(t *testing.T) {
	for suffix, want := range map[string]bool{"": true, ".1": true, "-b": true, "1": false, "y": false, "é": false} {
		assert.Check(t, is.Equal(beginsWith("M=12.3"+suffix, "M=12.3"), want), "a mark with %q after it", suffix)
	}
}

// TestSweepSparesItsOwnAncestors checks that Sweep doesn't end its own ancestors. They may carry the
// mark, because a run may be resumed by a process that the run itself started.
func TestSweepSparesItsOwnAncestors(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	mark := newMark()
	cmd.Env = append(os.Environ(), noSleep, MarkVar+"="+mark, roleVar+"=parent", argsVar+"=waiting -- sweeper "+mark)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "0 <nil>\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestSweepFindsCagedProcesses checks that Sweep ends a caged process even if the process has cleared
// its environment.
func TestSweepFindsCagedProcesses(t *testing.T) {
	run := newMark()
	e, err := cage.New(cage.Policy{Writable: []string{os.DevNull}, Network: cage.Network{IsOpen: true}}).Enter("/bin/sh", cage.Mark(run+".7"))
	assert.NilError(t, err)
	defer e.Close()
	cmd := exec.Command(cage.EntryProgram)
	cmd.Args, cmd.Env, cmd.ExtraFiles = e.Arguments([]string{"sh", "-c", "exec sleep 300"}), []string{"PATH=/usr/bin:/bin"}, []*os.File{e.File()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	assert.NilError(t, errors.Join(cmd.Start(), e.Admit()))
	if n, err := Sweep(run); n != 1 || err != nil {
		t.Errorf("Sweep: got %d, %v, want 1", n, err)
	}
	_ = cmd.Wait()
	wantGone(t, cmd.Process.Pid)
}
