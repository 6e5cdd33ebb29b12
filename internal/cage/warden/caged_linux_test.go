package warden

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/cage/entry"
)

// stage is an environment variable. If it is set, the test binary runs an attack. mark is the cage's mark.
const (
	stage = "WARDEN_ATTACKS"
	mark  = 424_242_424_242
)

// hang is the time after which a test gives up. It is long because the machine may be very busy.
const hang = 2 * time.Minute

// TestMain runs the tests. In a child process, it instead runs an attack and prints its result.
func TestMain(m *testing.M) {
	if os.Getenv(stage) != "" {
		fmt.Println(attacks[os.Args[1]](os.Args[2:]))
		return
	}
	// Creating a pipe makes Go's runtime open its own descriptors now, so that checkLeaks doesn't take them
	// for leaks.
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	os.Exit(m.Run())
}

// fail prints an error and ends the process.
func fail(what string, err error) {
	fmt.Fprintln(os.Stderr, what, err)
	os.Exit(1)
}

// filter returns a seccomp program that sends three kinds of calls to the listener: connect, listen, and
// calls that change another process.
func filter() ([]byte, error) {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	const number, first, second = 0, 16, 24
	ask := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	program := []unix.SockFilter{load(number), equal(unix.SYS_CONNECT, 1, 0), equal(unix.SYS_LISTEN, 0, 1), ask}
	for _, call := range []uint32{
		unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
	} {
		program = append(program, load(number), equal(call, 0, 3), load(first), equal(0, 1, 0), ask)
	}
	program = append(program, load(number), equal(unix.SYS_SETPRIORITY, 0, 1), ask)
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	return binary.Append(nil, binary.NativeEndian, program)
}

// attacker is a process that runs an attack in a cage.
type attacker struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  *bufio.Reader
	stderr bytes.Buffer
	served chan struct{}
	stop   context.CancelFunc

	lock    sync.Mutex
	refused []string
}

// start starts an attack in a cage, with dir as its working directory.
func start(t *testing.T, dir string, rules Rules, attack ...string) *attacker {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	assert.NilError(t, err)
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	program, err := filter()
	assert.NilError(t, err)
	i := &attacker{t: t, cmd: exec.Command("/proc/self/exe"), served: make(chan struct{})}
	i.cmd.Args = entry.Arguments(append([]string{"attacker"}, attack...))
	i.cmd.Dir = dir
	i.cmd.Env = append(os.Environ(), stage+"=1")
	i.cmd.ExtraFiles = []*os.File{theirs}
	i.cmd.Stderr = &i.stderr
	i.stdin, _ = i.cmd.StdinPipe()
	stdout, _ := i.cmd.StdoutPipe()
	i.lines = bufio.NewReader(stdout)
	assert.NilError(t, i.cmd.Start())
	assert.NilError(t, errors.Join(theirs.Close(), entry.WritePlan(ours, &entry.Plan{Path: []byte("/proc/self/exe"), Mark: mark, Filter: program})))
	listener, err := entry.AwaitExec(ours)
	assert.NilError(t, err)
	rules.Mark = mark
	rules.OnRefused = func(target string) {
		i.lock.Lock()
		defer i.lock.Unlock()
		i.refused = append(i.refused, target)
	}
	ctx, stop := context.WithCancel(t.Context())
	i.stop = stop
	go func() {
		defer close(i.served)
		Serve(ctx, listener, rules)
	}()
	return i
}

// line reads a line of the attacker's output.
func (i *attacker) line() string {
	i.t.Helper()
	line, err := i.lines.ReadString('\n')
	if err != nil {
		i.cmd.Wait()
		i.t.Fatalf("%v: %v: %s", i.cmd.Args, err, &i.stderr)
	}
	return strings.TrimSpace(line)
}

// wait waits until the attacker and its warden have ended, and returns the denied targets.
func (i *attacker) wait() []string {
	i.t.Helper()
	i.stdin.Close()
	i.cmd.Wait()
	select {
	case <-i.served:
	case <-time.After(hang):
		i.t.Fatal("the warden did not end, although no process is left")
	}
	i.stop()
	i.lock.Lock()
	defer i.lock.Unlock()
	return i.refused
}

// attack runs an attack until it ends, and returns its output and the denied targets.
func attack(t *testing.T, dir string, rules Rules, args ...string) (result string, refused []string) {
	t.Helper()
	i := start(t, dir, rules, args...)
	result = i.line()
	return result, i.wait()
}

// checkLeaks fails the test if it ends with more goroutines or open files than it had at the start.
func checkLeaks(t *testing.T) {
	t.Helper()
	count := func() (goroutines, files int) {
		names, _ := os.ReadDir("/proc/self/fd")
		return runtime.NumGoroutine(), len(names)
	}
	goroutines, files := count()
	t.Cleanup(func() {
		var g, f int
		for deadline := time.Now().Add(hang); time.Now().Before(deadline); runtime.Gosched() {
			if g, f = count(); g <= goroutines && f <= files {
				return
			}
		}
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines and %d files, want %d and %d\n%s", g, f, goroutines, files, stacks[:runtime.Stack(stacks, true)])
	})
}

// errnoName returns the name of the errno in err. It returns "ok" if err is nil.
func errnoName(err error) string {
	if err == nil {
		return "ok"
	}
	return unix.ErrnoName(errnoOf(err))
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		fail("number", err)
	}
	return n
}
