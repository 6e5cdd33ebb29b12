package warden

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// site contains a directory to which caged processes may write, and one to which they may not. In each
// directory, a process outside of the cage listens on a unix socket.
type site struct {
	inside, outside string
	reached         atomic.Int32 // number of connections to the services
}

// newSite creates the directories of a site and starts a service on both unix sockets.
func newSite(t *testing.T) *site {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	s := &site{inside: filepath.Join(folder, "work"), outside: filepath.Join(folder, "run")}
	for _, dir := range []string{s.inside, s.outside} {
		assert.NilError(t, os.Mkdir(dir, 0o755))
	}
	serve(t, "unix", filepath.Join(s.inside, "daemon.sock"), &s.reached)
	serve(t, "unix", filepath.Join(s.outside, "docker.sock"), &s.reached)
	return s
}

// serve starts a server that accepts connections and adds them to count, and returns its address.
func serve(t *testing.T, network, address string, count *atomic.Int32) string {
	t.Helper()
	shared := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	}}
	listener, err := shared.Listen(t.Context(), network, address)
	assert.NilError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if count != nil {
				count.Add(1)
			}
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

// fullPort returns a port of 127.0.0.1 whose queue of connections is full, so that a further connect
// never completes.
func fullPort(t *testing.T) uint16 {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	assert.NilError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	assert.NilError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	assert.NilError(t, unix.Listen(fd, 0))
	bound, err := unix.Getsockname(fd)
	assert.NilError(t, err)
	for range 4 {
		waiting, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		assert.NilError(t, err)
		t.Cleanup(func() { unix.Close(waiting) })
		unix.Connect(waiting, bound)
	}
	// The queue is full when the first connection has arrived.
	for {
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); n == 1 {
			return uint16(bound.(*unix.SockaddrInet4).Port)
		}
	}
}

func portOf(t *testing.T, address string) uint16 {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	assert.NilError(t, err)
	port, err := strconv.ParseUint(text, 10, 16)
	assert.NilError(t, err)
	return uint16(port)
}

// TestForeignUnixSocketsAreRefused checks that a caged process can't connect to a unix socket on which a
// process outside of the cage listens, whatever path it uses and wherever the socket's file is.
func TestForeignUnixSocketsAreRefused(t *testing.T) {
	checkLeaks(t)
	s := newSite(t)
	docker := filepath.Join(s.outside, "docker.sock")
	link, hard, dir := filepath.Join(s.inside, "link.sock"), filepath.Join(s.inside, "hard.sock"), filepath.Join(s.inside, "dir")
	shared := "/dev/shm/warden-test-" + strconv.Itoa(os.Getpid())
	serve(t, "unix", shared, &s.reached)
	assert.NilError(t, errors.Join(os.Symlink(docker, link), os.Symlink(s.outside, dir), os.Link(docker, hard)))
	for _, isOpen := range []bool{false, true} {
		for name, args := range map[string][]string{
			"path":             {docker},
			"link":             {link},
			"hard link":        {hard},
			"in the workspace": {filepath.Join(s.inside, "daemon.sock")},
			"in shared memory": {shared},
			"relative":         {"../run/docker.sock"},
			"link to folder":   {"dir/docker.sock"},
			"other folder":     {"docker.sock", s.outside},
			"proc":             {"/proc/self/cwd/docker.sock", s.outside},
			"proc root":        {"/proc/self/root" + docker},
			"prefix of name":   {s.inside + "/../work/../run/docker.sock"},
			"linked to proc":   {"/proc/thread-self/cwd/../run/docker.sock"},
			"through a mount":  {"/dev/fd/../root" + docker},
		} {
			result, refused := attack(t, s.inside, Rules{IsOpen: isOpen}, append([]string{"unix"}, args...)...)
			if result != "EACCES" && result != "ENOENT" || s.reached.Load() > 0 {
				t.Errorf("%s: got %s and %d connections, want EACCES and none", name, result, s.reached.Load())
			}
			if result == "EACCES" && !slices.Equal(refused, []string{docker}) && !slices.Equal(refused, args) {
				t.Errorf("%s: reported %q, want %q", name, refused, docker)
			}
		}
	}
}

// TestAbstractSocketsAreRefused checks that a caged process can't connect to an abstract unix socket.
func TestAbstractSocketsAreRefused(t *testing.T) {
	var count atomic.Int32
	name := "@warden-test-" + strconv.Itoa(os.Getpid())
	serve(t, "unix", name, &count)
	result, refused := attack(t, t.TempDir(), Rules{IsOpen: true}, "unix", name)
	if result != "ECONNREFUSED" || count.Load() > 0 || !slices.Equal(refused, []string{name}) {
		t.Errorf("got %s, %d connections, reported %q", result, count.Load(), refused)
	}
}

// TestOwnUnixSocketsAreReachable checks that a caged process can connect to a unix socket in its own
// cage through any path, and gets the kernel's errno for paths that don't name a listening unix socket.
func TestOwnUnixSocketsAreReachable(t *testing.T) {
	checkLeaks(t)
	s := newSite(t)
	assert.NilError(t, os.Symlink("own.sock", filepath.Join(s.inside, "link.sock")))
	for args, want := range map[string]string{
		"unix own.sock": "ok",
		"unix " + filepath.Join(s.inside, "own.sock"): "ok",
		"unix link.sock":               "ok",
		"unix own.sock " + s.inside:    "ok",
		"unix /proc/self/cwd/own.sock": "ok",
		"unix none.sock":               "ENOENT",
		"unix own.sock/x":              "ENOTDIR",
		"unix " + s.inside:             "ECONNREFUSED",
		"thread own.sock":              "ok",
	} {
		result, refused := attack(t, s.inside, Rules{}, append([]string{"serve", "own.sock"}, strings.Fields(args)...)...)
		if result != want || len(refused) > 0 {
			t.Errorf("%s: got %s, reported %q, want %s", args, result, refused, want)
		}
	}
}

// TestRewrittenAddressesAreNotUsed checks that a connection is still denied if another thread changes
// the address while the warden decides.
func TestRewrittenAddressesAreNotUsed(t *testing.T) {
	checkLeaks(t)
	s := newSite(t)
	docker := filepath.Join(s.outside, "docker.sock")
	// Both paths have the same length, so a mixture of the two can't be the path of another file.
	same := filepath.Join(s.inside, "dock.sock")
	result, refused := attack(t, s.inside, Rules{}, "serve", same, "rewrite", same, docker)
	if s.reached.Load() > 0 || !slices.Equal(slices.Compact(refused), []string{docker}) {
		t.Errorf("got %d connections, reported %q", s.reached.Load(), slices.Compact(refused))
	}
	assert.Check(t, strings.HasPrefix(result, "true true"), "the attack never met both addresses: %s", result)
}

// TestSwappedSocketsAreNotConnected checks that replacing the socket behind a descriptor doesn't let a
// process connect to a forbidden address.
func TestSwappedSocketsAreNotConnected(t *testing.T) {
	checkLeaks(t)
	var count atomic.Int32
	result, _ := attack(t, t.TempDir(), Rules{}, "swap", serve(t, "tcp", "127.0.0.1:0", &count))
	if result != "0" || count.Load() > 0 {
		t.Errorf("%s were connected, %d accepted, want none", result, count.Load())
	}
}

// TestNetworkNoneRefusesAddresses checks which connections are allowed under the network "none".
func TestNetworkNoneRefusesAddresses(t *testing.T) {
	checkLeaks(t)
	var count atomic.Int32
	allowed, foreign := serve(t, "tcp", "127.0.0.1:0", nil), serve(t, "tcp", "127.0.0.1:0", &count)
	port, other := strconv.Itoa(int(portOf(t, allowed))), strconv.Itoa(int(portOf(t, foreign)))
	serve(t, "tcp", "127.0.0.2:"+port, &count)
	serve(t, "tcp", "[::1]:"+port, &count)
	rules := Rules{Ports: []uint16{portOf(t, allowed)}}
	for _, c := range []struct{ attack, want, reported string }{
		{"ip " + allowed, "ok", ""},
		{"ip [::ffff:127.0.0.1]:" + port, "ok", ""},
		{"ip 0.0.0.0:" + port, "ok", ""},
		{"ip 127.0.0.1:1", "ECONNREFUSED", ""},
		{"ip " + foreign, "EACCES", foreign},
		{"ip 0.0.0.0:" + other, "EACCES", foreign},
		{"ip [::ffff:127.0.0.1]:" + other, "EACCES", foreign},
		{"ip 127.0.0.2:" + port, "EACCES", "127.0.0.2:" + port},
		{"ip [::1]:" + port, "EACCES", "[::1]:" + port},
		{"ip [::]:" + port, "EACCES", "[::1]:" + port},
		{"ip 169.254.169.254:80", "EACCES", "169.254.169.254:80"},
		{"ip [fd00:ec2::254]:80", "EACCES", "[fd00:ec2::254]:80"},
		{"ip 192.0.2.1:" + port, "EACCES", "192.0.2.1:" + port},
		{"udp 127.0.0.1:" + port, "EACCES", allowed},
		{"udp 192.0.2.1:53", "EACCES", "192.0.2.1:53"},
		{"beside [::1]:" + other + " " + foreign, "bind ok listen EADDRINUSE bind ok listen EADDRINUSE", ""},
		{"bound 127.0.0.1:0 127.0.0.2:0 0.0.0.0:" + port, "true", ""},
		{"bound [::1]:0 [::ffff:127.0.0.1]:0 [::]:" + other, "false", ""},
	} {
		result, refused := attack(t, t.TempDir(), rules, strings.Fields(c.attack)...)
		if result != c.want || strings.Join(refused, " ") != c.reported || count.Load() > 0 {
			t.Errorf("%s: got %s, reported %q and %d connections, want %s and %q", c.attack, result, refused, count.Load(), c.want, c.reported)
		}
	}
}

// TestOwnServersAreReachable checks that caged processes can connect to servers in their own cage on
// loopback.
func TestOwnServersAreReachable(t *testing.T) {
	checkLeaks(t)
	for _, c := range []struct{ attack, want string }{
		{"own 127.0.0.1:0 127.0.0.1 0.0.0.0 ::ffff:127.0.0.1 127.0.0.2", "ok ok ok EACCES"},
		{"own 0.0.0.0:0 127.0.0.1", "ok"},
		{"own [::1]:0 ::1 ::", "ok ok"},
		{"own [::]:0 ::1 127.0.0.1", "ok ok"},
	} {
		result, _ := attack(t, t.TempDir(), Rules{}, strings.Fields(c.attack)...)
		assert.Check(t, is.Equal(result, c.want), c.attack)
	}
}

// TestListenersAreBoundToLoopback checks that all listening sockets are bound to the loopback device,
// whatever their address is.
func TestListenersAreBoundToLoopback(t *testing.T) {
	checkLeaks(t)
	result, _ := attack(t, t.TempDir(), Rules{}, "listen", "0.0.0.0:0", "[::]:0", "127.0.0.1:0")
	assert.Check(t, is.Equal(result, strings.TrimSpace(strings.Repeat("ok ok lo ", 4))))
}

// TestOpenNetworkReachesAddresses checks that an open network allows TCP and UDP, except TCP to metadata
// services.
func TestOpenNetworkReachesAddresses(t *testing.T) {
	checkLeaks(t)
	foreign := serve(t, "tcp", "127.0.0.1:0", nil)
	for _, kind := range []string{"ip ", "udp "} {
		result, refused := attack(t, t.TempDir(), Rules{IsOpen: true}, strings.Fields(kind+foreign)...)
		if result != "ok" || len(refused) > 0 {
			t.Errorf("%s: got %s, reported %q", kind, result, refused)
		}
	}
	for _, metadata := range []string{"169.254.169.254:80", "[::ffff:169.254.169.254]:80", "[fe80::1]:80", "[64:ff9b::a9fe:a9fe]:80", "[2002:a9fe:a9fe::1]:80", "168.63.129.16:80", "[fd00:ec2::254]:80", "[fd00:ec2::23]:80", "[fd00:c1::a9fe:a9fe]:80", "[fd00:42::42]:80"} {
		result, refused := attack(t, t.TempDir(), Rules{IsOpen: true}, "ip", metadata)
		if result != "EACCES" || len(refused) != 1 {
			t.Errorf("%s: got %s, reported %q, want it refused", metadata, result, refused)
		}
	}
}

func TestManyConcurrentConnects(t *testing.T) {
	checkLeaks(t)
	result, _ := attack(t, t.TempDir(), Rules{}, "many")
	assert.Check(t, is.Equal(result, "map[hello:200]"))
}

// TestCallersGetTheKernelsErrors checks that callers get the kernel's own errors when the warden
// connects for them.
func TestCallersGetTheKernelsErrors(t *testing.T) {
	checkLeaks(t)
	reached := serve(t, "tcp", "127.0.0.1:0", nil)
	busy := fullPort(t)
	rules := Rules{Ports: []uint16{portOf(t, reached), busy}}
	result, _ := attack(t, t.TempDir(), rules, "odd", "127.0.0.1:"+strconv.Itoa(int(busy)), reached)
	const want = "no-descriptor:EBADF no-socket:ENOTSOCK short:EINVAL long:EINVAL empty:EINVAL family:ok unix-on-tcp:EINVAL " +
		"netlink:EACCES connect:ok again:EISCONN non-blocking:EINPROGRESS timeout:EINPROGRESS true"
	assert.Check(t, is.Equal(result, want))
}

// TestKilledCallersLeaveNothing checks that killing a cage's processes, or stopping the warden, ends all
// blocked connects, even if there are more of them than the warden executes at the same time.
func TestKilledCallersLeaveNothing(t *testing.T) {
	for _, target := range []string{"full.sock", "127.0.0.1:" + strconv.Itoa(int(fullPort(t)))} {
		for name, end := range map[string]func(*attacker){
			"killed":  func(i *attacker) { i.cmd.Process.Kill() },
			"stopped": func(i *attacker) { i.stop() },
		} {
			t.Run(name, func(t *testing.T) {
				checkLeaks(t)
				i := start(t, t.TempDir(), Rules{IsOpen: true}, "hang", strconv.Itoa(maxConcurrent+20), target)
				i.line()
				// Wait until the process has started all of its connects and the warden is executing the maximum
				// number of them.
				isBlocked := func() bool {
					threads, _ := os.ReadDir("/proc/" + strconv.Itoa(i.cmd.Process.Pid) + "/task")
					return len(threads) > maxConcurrent+20 && countDecisions() >= maxConcurrent
				}
				for deadline := time.Now().Add(hang); !isBlocked(); time.Sleep(pollInterval / 10) {
					assert.Assert(t, time.Now().Before(deadline), "the attacker does not hang")
				}
				for range 10 { // give one more decision time to appear
					time.Sleep(pollInterval / 10)
					if got := countDecisions(); got > maxConcurrent {
						t.Errorf("decided at once: got %d, want at most %d", got, maxConcurrent)
						break
					}
				}
				end(i)
				select {
				case <-i.served:
				case <-time.After(hang): // shorter than the kernel's own timeout for connect
					t.Fatal("the warden did not end")
				}
				stacks := make([]byte, 1<<20)
				stacks = stacks[:runtime.Stack(stacks, true)]
				assert.Check(t, !bytes.Contains(stacks, []byte("(*warden)")), "something is still decided:\n%s", stacks)
				i.cmd.Process.Kill()
				i.wait()
			})
		}
	}
}

// countDecisions returns how many connects the warden is executing now.
func countDecisions() int {
	stacks := make([]byte, 4<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("(*warden).dial("))
}

// TestForeignProcessesCantBeChanged checks that a caged process can't change the limits, priority or
// scheduling of processes outside of its cage, and that it can change them for its child.
func TestForeignProcessesCantBeChanged(t *testing.T) {
	checkLeaks(t)
	const refused = " EPERM EPERM EPERM EPERM"
	tests := map[int]string{os.Getpid(): "ok" + refused, -1: "ESRCH" + refused}
	// The first process carries no mark, the second carries the mark of another cage.
	for _, other := range []uint64{unix.RLIM_INFINITY, mark + 1} {
		bystander := exec.Command("/proc/self/exe", "idle")
		bystander.Env = append(os.Environ(), stage+"=1")
		assert.NilError(t, bystander.Start())
		defer bystander.Wait()
		defer bystander.Process.Kill()
		assert.NilError(t, unix.Prlimit(bystander.Process.Pid, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: other, Max: other}, nil))
		tests[bystander.Process.Pid] = "ok" + refused
	}
	for process, want := range tests {
		result, _ := attack(t, t.TempDir(), Rules{IsOpen: true}, "change", strconv.Itoa(process))
		assert.Check(t, is.Equal(result, want), "process %d", process)
	}
	result, _ := attack(t, t.TempDir(), Rules{}, "changeself")
	assert.Check(t, is.Equal(result, "ok ok ok ok ok"), "own child")
}

// TestProcessOfThread checks how the process of a thread is found. The warden needs this before Linux 6.9.
func TestProcessOfThread(t *testing.T) {
	got := make(chan int)
	go func() {
		process, err := processOf(unix.Gettid())
		assert.Check(t, err)
		got <- process
	}()
	assert.Check(t, is.Equal(<-got, os.Getpid()))
	_, err := processOf(-1)
	assert.Check(t, is.ErrorIs(err, unix.ESRCH))
}
