//go:build linux && (amd64 || arm64)

package cage_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// callsVar is an environment variable. If it is set, the test binary makes the system calls in the map
// calls and prints their results.
const callsVar = "RAYMOND_TEST_CALLS"

// TestMain runs the tests. In a child process, it instead makes the system calls in the map calls and prints
// the name and the result of each, or runs
// the command in its arguments in a cage.
func TestMain(m *testing.M) {
	if os.Getenv(callsVar) != "" {
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			err := calls[name].do()
			var errno syscall.Errno
			switch {
			case err == nil:
				fmt.Println(name + ": ok")
			case errors.As(err, &errno):
				fmt.Println(name + ": " + unix.ErrnoName(errno))
			default:
				fmt.Println(name + ": " + err.Error())
			}
		}
		return
	}
	if dir := os.Getenv(supervisedVar); dir != "" {
		c := cage.New(cage.Policy{Writable: []string{dir, os.DevNull}, Network: open})
		path, err := exec.LookPath(os.Args[1])
		if err != nil {
			panic(err)
		}
		code, err := c.Supervise(cage.Command{Path: path, Args: os.Args[1:], Env: os.Environ()})
		if err != nil {
			panic(err)
		}
		os.Exit(code)
	}
	// With Yama, a process may examine only its own descendants, so make orphans children of this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// supervisedVar is an environment variable that contains a directory. If it is set, the test binary runs
// the command in its arguments in a cage that may write to that directory.
const supervisedVar = "RAYMOND_TEST_SUPERVISED"

// runCaged runs a program in a cage with the given policy and returns its output.
func runCaged(t *testing.T, p cage.Policy, argv ...string) string {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	assert.NilError(t, err)
	e, err := cage.New(p).Enter(path, cage.Mark(t.Name()+".1"))
	assert.NilError(t, err)
	defer e.Close()
	cmd := exec.Command(cage.EntryProgram)
	cmd.Args = e.Arguments(argv)
	cmd.Env = append(os.Environ(), callsVar+"=1")
	cmd.ExtraFiles = []*os.File{e.File()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	assert.NilError(t, cmd.Start())
	assert.Check(t, e.Admit())
	_ = cmd.Wait()
	return out.String()
}

// open is the Network that allows all addresses.
var open = cage.Network{IsOpen: true}

// write writes a file and creates its directory. It returns the path of the file.
func write(t *testing.T, path, text string) string {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestTrustedProcessesCantUseHiddenFiles checks that a trusted process can't read, write or execute
// anything in a hidden directory, where agents may have left files, and that it can use the rest of the
// machine.
func TestTrustedProcessesCantUseHiddenFiles(t *testing.T) {
	dir := t.TempDir()
	theirs := filepath.Join(dir, "theirs")
	note := write(t, filepath.Join(theirs, "note"), "canary\n")
	assert.NilError(t, os.WriteFile(filepath.Join(theirs, "git"), []byte("#!/bin/sh\necho planted\n"), 0o700))
	assert.NilError(t, os.Symlink(note, filepath.Join(write(t, filepath.Join(dir, "ours", "file"), "")+"-link")))
	p := cage.Policy{IsTrusted: true, Hidden: []string{theirs, "/dev/shm"}, Network: open}
	got := runCaged(t, p, "/bin/bash", "-c", fmt.Sprintf(`cd %q; PATH=%q:$PATH
cat %q ours/file-link || echo unread; ls %q || echo unlisted; cd %q; git 2>&1 | head -n 1; echo > theirs/new || echo unwritten; echo > /dev/shm/raymond-test || echo no shm
echo > ours/new && cat ours/new && cat /etc/passwd > /dev/null && echo the rest`, dir, theirs, note, theirs, dir))
	assert.Check(t, !strings.Contains(got, "canary"), "got %s, want nothing of what is hidden", got)
	assert.Check(t, !strings.Contains(got, "planted"), "got %s, want nothing of what is hidden", got)
	for _, want := range []string{"unread", "unlisted", "unwritten", "no shm", "the rest"} {
		assert.Check(t, is.Contains(got, want))
	}
}

func TestFilesAreConfined(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	key := write(t, filepath.Join(dir, "ssh", "id"), "canary\n")
	write(t, filepath.Join(run, "state.json"), "canary\n")
	write(t, filepath.Join(run, "scope", "payload"), "payload\n")
	beside := write(t, filepath.Join(dir, "beside"), "beside\n")
	work := filepath.Dir(write(t, filepath.Join(dir, "w\xf6rk", "file"), "work\n")) // the name is not valid UTF-8
	assert.NilError(t, os.Symlink(key, filepath.Join(work, "link")))
	for _, link := range [][2]string{{filepath.Join(dir, "named"), beside}, {filepath.Join(dir, "read", "link"), key}} {
		assert.NilError(t, errors.Join(os.MkdirAll(filepath.Dir(link[0]), 0o700), os.Symlink(link[1], link[0])))
	}
	write(t, filepath.Join(dir, "read", "runner", "key"), "canary\n")
	write(t, filepath.Join(dir, "read", "runner", "tools", "one"), "tool\n")
	write(t, filepath.Join(dir, "read", "rest"), "rest\n")
	p := cage.Policy{
		Readable: append(cage.SystemPaths(), filepath.Join(run, "scope"), filepath.Join(dir, "named"), filepath.Join(dir, "read"), filepath.Join(dir, "read", "runner", "tools")),
		Hidden:   []string{filepath.Join(dir, "read", "runner")},
		Writable: []string{work, os.DevNull, filepath.Join(dir, "missing")}, Network: open,
	}
	for name, c := range map[string]struct{ script, want string }{
		"a hidden file":                   {"cat " + key, "Permission denied"},
		"a hidden file by a link":         {"cat " + work + "/link", "Permission denied"},
		"a hidden file by the own root":   {"cat /proc/self/root" + key, "Permission denied"},
		"a hidden file by a hard link":    {"ln " + key + " " + work + "/hard && cat " + work + "/hard", "ln: "},
		"a hidden file that is moved":     {"mv " + key + " " + work + "/moved", "mv: "},
		"the names of hidden files":       {"ls " + run, "Permission denied"},
		"a file beside the shown ones":    {"cat " + run + "/state.json", "Permission denied"},
		"a shown file":                    {"cat " + run + "/scope/payload", "payload"},
		"a shown file that is written":    {"echo x > " + run + "/scope/payload", "Permission denied"},
		"a file that a link leads to":     {"cat " + dir + "/named", "beside"},
		"a link to a hidden file":         {"cat " + dir + "/read/link", "Permission denied"},
		"a file in a readable folder":     {"cat " + dir + "/read/rest", "rest"},
		"a file that is hidden in it":     {"cat " + dir + "/read/runner/key", "Permission denied"},
		"what is named in a hidden one":   {"cat " + dir + "/read/runner/tools/one", "tool"},
		"a file that nothing names":       {"cat " + dir + "/read/../ssh/id", "Permission denied"},
		"that file, written":              {"echo x > " + beside, "Permission denied"},
		"that file, removed":              {"rm " + beside, "Permission denied"},
		"that file, emptied":              {"truncate -s 0 " + beside, "Permission denied"},
		"a new file beside it":            {"echo x > " + dir + "/new", "Permission denied"},
		"a file of the work":              {"echo more >> " + work + "/file && cat " + work + "/file", "more"},
		"a new folder of the work":        {"mkdir -p " + work + "/a/b && mv " + work + "/a " + work + "/c && ls " + work, "c\n"},
		"the null device":                 {"echo x > /dev/null && echo done", "done"},
		"a pipe of the shell":             {"echo through > /dev/stdout | cat", "through"},
		"the environment of its starter":  {"cat /proc/$PPID/environ", "Permission denied"},
		"a signal for its starter":        {"kill -0 $PPID", "not permitted"},
		"its turn when memory is used up": {"cat /proc/self/oom_score_adj", "1000"},
		"that turn, given away":           {"echo 0 > /proc/self/oom_score_adj", "Permission denied"},
		"its own signal":                  {"kill -0 $$ && echo done", "done"},
		"what another process has open":   {"readlink /proc/$PPID/fd/0 || echo refused", "refused"},
		"a namespace with all privileges": {"unshare --user true", "not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runCaged(t, p, "bash", "-c", c.script); !strings.Contains(got, c.want) || strings.Contains(got, "canary") {
				t.Errorf("%s: got %q, want %q", c.script, got, c.want)
			}
		})
	}
}

// calls are system calls that the test binary makes in a cage.
var calls = map[string]struct {
	// want is the expected result with an open network. If the network "none" has another result, want
	// contains both, separated by a space.
	want string
	do   func() error
}{
	"unix stream": {"ok", func() error { return socket(unix.AF_UNIX, unix.SOCK_STREAM, 0) }},
	// Each datagram names its target in memory, where a filter can't read it.
	"unix datagram":      {"EACCES", func() error { return socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0) }},
	"unix datagram pair": {"EACCES", func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0); return err }},
	"unix stream pair":   {"ok", func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
	"tcp":                {"ok", func() error { return socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0) }},
	"tcp6":               {"ok", func() error { return socket(unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP) }},
	"mptcp":              {"ok EACCES", func() error { return socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP) }},
	"udp":                {"ok EACCES", func() error { return socket(unix.AF_INET, unix.SOCK_DGRAM, 0) }},
	"raw":                {"EACCES", func() error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
	"packet":             {"EAFNOSUPPORT", func() error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	"vsock":              {"EAFNOSUPPORT", func() error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
	"bluetooth":          {"EAFNOSUPPORT", func() error { return socket(unix.AF_BLUETOOTH, unix.SOCK_STREAM, 0) }},
	"netlink route":      {"ok", func() error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) }},
	"netlink netfilter":  {"ok EACCES", func() error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER) }},
	"fast open":          {"ENOTSUP", fastOpen},
	"io_uring":           {"ENOSYS", func() error { return raw(unix.SYS_IO_URING_SETUP, 1, 0, 0) }},
	"userfaultfd":        {"EPERM", func() error { return raw(unix.SYS_USERFAULTFD, 0, 0, 0) }},
	"bpf":                {"EPERM", func() error { return raw(unix.SYS_BPF, 0, 0, 0) }},
	"perf":               {"EPERM", func() error { return raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) }},
	"keyctl":             {"EPERM", func() error { return raw(unix.SYS_KEYCTL, 0, 0, 0) }},
	"message queue":      {"EPERM", func() error { return raw(unix.SYS_MQ_UNLINK, 0, 0, 0) }},
	"unshare of a mount": {"EPERM", func() error { return unix.Unshare(unix.CLONE_NEWNS) }},
	"unshare of a user":  {"EPERM", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	"clone3":             {"ENOSYS", func() error { return raw(unix.SYS_CLONE3, 0, 0, 0) }},
	"mount":              {"EPERM", func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") }},
	"chroot":             {"EPERM", func() error { return unix.Chroot("/tmp") }},
	"other architecture": {"ENOSYS", func() error { return raw(0x40000000|unix.SYS_GETPID, 0, 0, 0) }},
	"mark, by prlimit": {"EPERM", func() error {
		return setLimit(func(l *unix.Rlimit) error { return unix.Prlimit(0, unix.RLIMIT_RTTIME, l, nil) })
	}},
	"mark, by own number": {"EPERM", func() error {
		return setLimit(func(l *unix.Rlimit) error { return unix.Prlimit(os.Getpid(), unix.RLIMIT_RTTIME, l, nil) })
	}},
	"mark, by setrlimit": {"EPERM", func() error {
		return setLimit(func(l *unix.Rlimit) error { return unix.Setrlimit(unix.RLIMIT_RTTIME, l) })
	}},
	"another limit":      {"ok", func() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }},
	"limit of others":    {"EPERM", func() error { return unix.Prlimit(os.Getppid(), unix.RLIMIT_CORE, &unix.Rlimit{}, nil) }},
	"priority of others": {"EPERM", func() error { return unix.Setpriority(unix.PRIO_PROCESS, os.Getppid(), 19) }},
	"priority of group":  {"EPERM", func() error { return unix.Setpriority(unix.PRIO_PGRP, 0, 19) }},
	"disk of group":      {"EPERM", func() error { return raw(unix.SYS_IOPRIO_SET, 2, 0, 7<<13) }},
	"priority of all":    {"EPERM", func() error { return unix.Setpriority(unix.PRIO_USER, 0, 0) }},
	"disk of all":        {"EPERM", func() error { return raw(unix.SYS_IOPRIO_SET, 3, 0, 7<<13) }}, // without the filter, the kernel would return EINVAL
	"shared udp port":    {"EADDRINUSE EACCES", sharePort},
	"another route":      {"ok EPERM", func() error { return option(unix.AF_INET, unix.SOL_IP, unix.IP_OPTIONS) }},
	"another route, 6":   {"ok EPERM", func() error { return option(unix.AF_INET6, unix.SOL_IPV6, unix.IPV6_RTHDR) }},
	"another device":     {"ok EPERM", func() error { return option(unix.AF_INET, unix.SOL_SOCKET, unix.SO_BINDTODEVICE) }},
	"own priority":       {"ok", func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 19) }},
	"processors of others": {"EPERM", func() error {
		var set unix.CPUSet
		set.Set(0)
		return unix.SchedSetaffinity(os.Getppid(), &set)
	}},
	// Without the filter, the kernel would return another errno for the next calls, before it checks
	// privileges. EPERM therefore shows that the filter denied them.
	"mark, by the old call":  {"EPERM", func() error { return raw(unix.SYS_SETRLIMIT, unix.RLIMIT_RTTIME, 0, 0) }},
	"odd userfaultfd":        {"EPERM", func() error { return raw(unix.SYS_USERFAULTFD, 1, 0, 0) }},
	"odd mount":              {"EPERM", func() error { return raw(unix.SYS_MOUNT, 0, 0, 0) }},
	"odd chroot":             {"EPERM", func() error { return raw(unix.SYS_CHROOT, 0, 0, 0) }},
	"handle":                 {"EPERM", func() error { return raw(unix.SYS_OPEN_BY_HANDLE_AT, 1, 0, 0) }},
	"clone of a user":        {"EPERM", func() error { return raw(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS, 0, 0) }},
	"typing into a terminal": {"EPERM", func() error { return raw(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0) }},
	"a foreign signal":       {"EPERM", func() error { return unix.Kill(os.Getppid(), 0) }},
	"trace":                  {"EPERM", func() error { return unix.PtraceAttach(os.Getppid()) }},
	"group of others":        {"EPERM", func() error { return unix.Setpgid(0, pgid()) }},
}

// pgid returns the process group of the parent process, which is outside of the cage.
func pgid() int {
	id, _ := unix.Getpgid(os.Getppid())
	return id
}

func socket(domain, typ, proto int) error {
	_, err := unix.Socket(domain, typ, proto)
	return err
}

// option sets an option of a new TCP socket to an empty value, which needs no privileges.
func option(domain, level, name int) error {
	fd, err := unix.Socket(domain, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.SetsockoptString(fd, level, name, "")
}

// sharePort binds two sockets to the same UDP port, with both options that permit this.
func sharePort() error {
	var at unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	for range 2 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		err = cmp.Or(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1), unix.Bind(fd, at))
		if err != nil {
			return err
		}
		at, _ = unix.Getsockname(fd)
	}
	return nil
}

// raw makes a system call with three arguments.
func raw(call, a, b, c uintptr) error {
	if _, _, errno := unix.Syscall(call, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

// setLimit calls the function set with a limit that is lower than the mark.
func setLimit(set func(*unix.Rlimit) error) error {
	return set(&unix.Rlimit{Cur: 1 << 40, Max: 1 << 40})
}

// fastOpen sends data to a TCP address with MSG_FASTOPEN, without a connect call.
func fastOpen() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}})
}

// TestCallsAreFiltered checks the results of the system calls in the map calls. The filter itself must deny
// forbidden calls, because a process with more privileges could otherwise make them. Calls that agents need
// for their work must be allowed.
func TestCallsAreFiltered(t *testing.T) {
	self, err := os.Executable()
	assert.NilError(t, err)
	for n, network := range []cage.Network{open, {}} {
		got, want := map[string]string{}, map[string]string{}
		for line := range strings.Lines(runCaged(t, cage.Policy{Network: network}, self)) {
			call, errno, _ := strings.Cut(strings.TrimSpace(line), ": ")
			got[call] = errno
		}
		for name, c := range calls {
			all := strings.Fields(c.want)
			want[name] = all[min(n, len(all)-1)]
		}
		assert.Check(t, is.DeepEqual(got, want), "network open: %t", network.IsOpen)
	}
}

// TestMarksBelongToTheirRun checks that IsMarkOf recognizes all marks of a run and no other marks.
func TestMarksBelongToTheirRun(t *testing.T) {
	a, b := cage.Mark("run.1"), cage.Mark("run.2")
	if a == b || !cage.IsMarkOf(a, "run") || !cage.IsMarkOf(b, "run") || cage.IsMarkOf(a, "ru") || cage.IsMarkOf(cage.Mark("other.1"), "run") {
		t.Errorf("marks: got %x, %x", a, b)
	}
	assert.Check(t, is.Equal(cage.MarkOf(os.Getpid()), uint64(0)), "mark of a process without one")
}

// supervisedCommand returns a command that runs a script under Supervise, in a new directory.
func supervisedCommand(t *testing.T, script string) (dir string, cmd *exec.Cmd) {
	t.Helper()
	dir, cmd = t.TempDir(), exec.Command("/proc/self/exe", "bash", "-c", script)
	cmd.Env, cmd.Dir = append(os.Environ(), supervisedVar+"="+dir), dir
	return dir, cmd
}

// TestOneCommandIsSupervised checks a command that runs under Supervise. Its exit code is passed on. It
// is confined, can't access the threads of its supervisor, inherits no open files, is the first process
// to be killed if memory runs out, and leaves no process behind.
func TestOneCommandIsSupervised(t *testing.T) {
	dir, cmd := supervisedCommand(t, `(setsid env -i /bin/bash -c '(echo $BASHPID > new; mv new pid; exec /bin/sleep 1000) &' &)
		until [ -e pid ]; do :; done; cat <&3; echo x > ../outside; cd /proc/$PPID/task
		for t in *; do if kill -0 $t || prlimit --pid $t --core=0:0; then echo canary of thread $t; fi; done 2> /dev/null; cat /proc/self/oom_score_adj; exit 41`)
	left, err := os.Open(write(t, filepath.Join(t.TempDir(), "key"), "canary\n"))
	assert.NilError(t, err)
	defer left.Close()
	cmd.ExtraFiles = []*os.File{left}
	out, err := cmd.CombinedOutput()
	if output := string(out); cmd.ProcessState.ExitCode() != 41 || !strings.Contains(output, "Permission denied") || !strings.Contains(output, "\n1000\n") || strings.Contains(output, "canary") {
		t.Errorf("got %v: %s", err, out)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	assert.NilError(t, err)
	_, err = os.Stat("/proc/" + strings.TrimSpace(string(pid)))
	assert.Check(t, err != nil, "process %s is left", pid)
}

// TestForkingProcessesEndWithTheCommand checks that processes that keep forking and exiting, each in a
// new session, are ended with the command. If they survive, their last generation writes a file.
func TestForkingProcessesEndWithTheCommand(t *testing.T) {
	const hop = `use POSIX; for my $n (1..20000) { exit if fork; setsid } open(F, ">outlived")`
	dir, cmd := supervisedCommand(t, "for i in 1 2 3; do perl -e '"+hop+"' & done; exit 0")
	out, err := cmd.CombinedOutput()
	assert.NilError(t, err, "got %v: %s", err, out)
	_, err = os.Stat(filepath.Join(dir, "outlived"))
	assert.Check(t, err != nil, "a process came to its last life")
}
