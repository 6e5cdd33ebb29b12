//go:build linux && (amd64 || arm64)

package cage_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// victim names a process that the program of the tests acts on, in its cage.
const victim = "RAYMOND_TEST_VICTIM"

func init() {
	if pid, err := strconv.Atoi(os.Getenv(victim)); err == nil {
		tellErrors(onVictim(pid))
		os.Exit(0)
	}
	if os.Getenv(victim) == "none" {
		tellErrors(pointless)
		os.Exit(0)
	}
}

func tellErrors(calls map[string]func() error) {
	for name, call := range calls {
		var errno syscall.Errno
		errors.As(call(), &errno)
		fmt.Printf("%s: %s\n", name, unix.ErrnoName(errno))
	}
}

// onVictim are calls that the kernel itself allows between two processes of one user
// that have the same privileges.
func onVictim(pid int) map[string]func() error {
	return map[string]func() error{
		"priority": func() error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 19) },
		"processors": func() error {
			var set unix.CPUSet
			set.Set(0)
			return unix.SchedSetaffinity(pid, &set)
		},
		"limit":  func() error { return unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil) },
		"signal": func() error { return unix.Kill(pid, 0) },
		"trace":  func() error { return unix.PtraceAttach(pid) },
	}
}

// pointless are calls that the kernel would refuse for other reasons, with another
// number, before it asks for privileges.
var pointless = map[string]func() error{
	"mark, by the old call": func() error { return raw(unix.SYS_SETRLIMIT, unix.RLIMIT_RTTIME, 0, 0) },
	"userfaultfd":           func() error { return raw(unix.SYS_USERFAULTFD, 1, 0, 0) },
	"mount":                 func() error { return raw(unix.SYS_MOUNT, 0, 0, 0) },
	"chroot":                func() error { return raw(unix.SYS_CHROOT, 0, 0, 0) },
	"handle":                func() error { return raw(unix.SYS_OPEN_BY_HANDLE_AT, 1, 0, 0) },
	"clone":                 func() error { return raw(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS, 0, 0) },
}

// wantRefused runs the program of the tests in a cage, and wants each of its calls to
// fail with EPERM.
func wantRefused(t *testing.T, on string, calls int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(victim, on)
	said := strings.Fields(strings.ReplaceAll(caged(t, cage.Policy{Network: open}, self), ": ", "="))
	if text := strings.Join(said, " "); strings.Count(text, "=EPERM") != calls || strings.Count(text, "=") != calls {
		t.Errorf("calls in the cage: got %s, want EPERM from all %d", text, calls)
	}
}

// TestProcessesOfOtherCagesAreHeld: nor does a process reach one of the same user, with
// the same privileges, in another cage.
func TestProcessesOfOtherCagesAreHeld(t *testing.T) {
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	e, err := cage.New(cage.Policy{Network: open}).Enter(path, cage.Mark("victim.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	cmd := exec.Command(cage.Program)
	cmd.Args, cmd.ExtraFiles, cmd.SysProcAttr = e.Arguments([]string{"sh", "-c", "echo $$; read line"}), []*os.File{e.File()}, &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cmd.Start(), e.Follow()); err != nil {
		t.Fatal(err)
	}
	pid, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	wantRefused(t, strings.TrimSpace(pid), len(onVictim(0)))
	in.Close()
	_ = cmd.Wait()
}

// TestCallsThatTheKernelWouldRefuseLater are refused by the filter, not only for want of
// privileges, which an agent may have one day.
func TestCallsThatTheKernelWouldRefuseLater(t *testing.T) {
	wantRefused(t, "none", len(pointless))
}
