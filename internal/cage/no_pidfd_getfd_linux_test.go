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

// blindVar names a variable with the path of a unix socket. If it is set, the test binary tries to reach that
// socket from a cage whose warden can't duplicate descriptors.
const blindVar = "RAYMOND_TEST_BLIND"

func init() {
	socket, isBlind := os.LookupEnv(blindVar)
	if !isBlind {
		return
	}
	if os.Getenv("RAYMOND_CAGE") == "" {
		goBlind()
	}
	_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	fd, socketErr := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	connectErr := unix.Connect(fd, &unix.SockaddrUnix{Name: socket})
	fmt.Println("pair", err, "unix", socketErr, "reached", connectErr == nil)
	os.Exit(0)
}

// goBlind refuses pidfd_getfd to this process, as Docker's seccomp profile does, and runs the test binary
// again in a cage.
func goBlind() {
	runtime.LockOSThread()
	denied, err := assemble(refuseAll(uint32(unix.EPERM), unix.SYS_PIDFD_GETFD))
	if err == nil {
		_, err = (&entry.Plan{Filter: denied}).Apply()
	}
	if err == nil && os.Getenv("RAYMOND_TEST_AGAIN") == "" { // so that the filter applies to every thread
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

// TestNoUnixSocketsIfTheWardenCantSeeTargets: the runner mounts Docker's socket into every
// container job, and a process that reaches it is root on the host. If the warden can't see where unix
// sockets connect, a caged process must not be able to create one.
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
