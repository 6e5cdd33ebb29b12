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

// blind names the unix socket that a caged child of a program which can't borrow descriptors tries to reach.
const blind = "RAYMOND_TEST_BLIND"

func init() {
	socket, isBlind := os.LookupEnv(blind)
	if !isBlind {
		return
	}
	if os.Getenv("RAYMOND_CAGE") == "" {
		goBlind()
	}
	_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	fd, made := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	reached := unix.Connect(fd, &unix.SockaddrUnix{Name: socket})
	fmt.Println("pair", err, "unix", made, "reached", reached == nil)
	os.Exit(0)
}

// goBlind takes pidfd_getfd from this process, as Docker's seccomp profile does, and runs itself again in a cage.
func goBlind() {
	runtime.LockOSThread()
	denied, err := assemble(refused(uint32(unix.EPERM), unix.SYS_PIDFD_GETFD))
	if err == nil {
		_, err = (&entry.Plan{Filter: denied}).Apply()
	}
	if err == nil && os.Getenv("RAYMOND_TEST_AGAIN") == "" { // every thread has to have it
		err = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), "RAYMOND_TEST_AGAIN=1"))
	}
	c := New(Policy{Network: Network{IsOpen: os.Getenv("RAYMOND_TEST_OPEN") != ""}, Writable: []string{"/"}})
	for _, l := range Gaps(c.policy) {
		if l.IsWarning {
			fmt.Printf("lacks %v %v\n", l.IsMajor, l.Hint == unhidden)
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

// TestWhereNobodySeesWhereTheyConnectThereAreNoUnixSockets: the runner mounts Docker's into every container job.
func TestWhereNobodySeesWhereTheyConnectThereAreNoUnixSockets(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "docker.sock")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	assert.NilError(t, err)
	defer unix.Close(fd)
	assert.NilError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: socket}))
	assert.NilError(t, unix.Listen(fd, 1))
	for open, lacks := range map[string]string{"1": "lacks false true\n", "": "lacks false true\nlacks true true\n"} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), blind+"="+socket, "RAYMOND_TEST_OPEN="+open)
		said, err := cmd.CombinedOutput()
		want := lacks + "pair <nil> unix permission denied reached false\n"
		assert.Check(t, err, "network open %q", open)
		assert.Check(t, strings.HasSuffix(string(said), want), "network open %q: got %q (%v), want %q", open, said, err, want)
	}
}
