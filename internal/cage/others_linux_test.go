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
		for name, call := range onVictim(pid) {
			var errno syscall.Errno
			errors.As(call(), &errno)
			fmt.Printf("%s: %s\n", name, unix.ErrnoName(errno))
		}
		os.Exit(0)
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(victim, strings.TrimSpace(pid))
	calls := len(onVictim(0))
	if said := caged(t, cage.Policy{Network: open}, self); strings.Count(said, ": EPERM\n") != calls || strings.Count(said, ": ") != calls {
		t.Errorf("calls in the cage: got %s, want EPERM from all %d", said, calls)
	}
	in.Close()
	_ = cmd.Wait()
}
