//go:build linux && (amd64 || arm64)

package cage

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/cage/entry"
)

// blindVar is an environment variable that contains the path of a unix socket. If it is set, the test
// binary tries to connect to that socket from a cage whose warden can't duplicate descriptors.
const blindVar = "RAYMOND_TEST_BLIND"

func init() {
	socket, isBlind := os.LookupEnv(blindVar)
	if !isBlind {
		return
	}
	if os.Getenv("RAYMOND_CAGE") == "" {
		// Forbid pidfd_getfd for this process, as Docker's seccomp profile does, and run the test binary again
		// in a cage.
		runtime.LockOSThread()
		denied, err := assemble(refuseAll(uint32(unix.EPERM), unix.SYS_PIDFD_GETFD))
		if err == nil {
			_, err = (&entry.Plan{Filter: denied}).Apply()
		}
		// Execute the program again, so that the filter applies to all of its threads.
		if err == nil && os.Getenv("RAYMOND_TEST_AGAIN") == "" {
			err = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), "RAYMOND_TEST_AGAIN=1"))
		}
		c := New(Policy{Network: Network{IsOpen: os.Getenv("RAYMOND_TEST_OPEN") != ""}, Writable: []string{"/"}})
		for _, l := range Gaps(c.policy) {
			if l.IsWarning {
				fmt.Printf("lacks %v %v\n", l.IsMajor, l.Hint == ptraceHint)
			}
		}
		if err == nil {
			_, err = c.Supervise(Command{Path: "/proc/self/exe", Args: os.Args, Env: append(os.Environ(), "RAYMOND_CAGE=1")})
		}
		if err != nil {
			fmt.Println(err)
		}
		os.Exit(0)
	}
	_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	fd, socketErr := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	connectErr := unix.Connect(fd, &unix.SockaddrUnix{Name: socket})
	fmt.Println("pair", err, "unix", socketErr, "reached", connectErr == nil)
	os.Exit(0)
}

// TestNoUnixSocketsIfTheWardenCantSeeTargets checks that a caged process can't create a unix socket if
// the warden can't see where unix sockets connect. This matters because GitHub's runner mounts Docker's
// socket into every container job, and a process that connects to it can become root on the host.
func TestNoUnixSocketsIfTheWardenCantSeeTargets(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "docker.sock")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	assert.NilError(t, err)
	defer unix.Close(fd)
	assert.NilError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: socket}))
	assert.NilError(t, unix.Listen(fd, 1))
	for open, lacks := range map[string]string{"1": "lacks false true\n", "": "lacks false true\nlacks true true\n"} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), blindVar+"="+socket, "RAYMOND_TEST_OPEN="+open)
		output, err := cmd.CombinedOutput()
		want := lacks + "pair <nil> unix permission denied reached false\n"
		assert.Check(t, err, "network open %q", open)
		assert.Check(t, strings.HasSuffix(string(output), want), "network open %q: got %q (%v), want %q", open, output, err, want)
	}
}
