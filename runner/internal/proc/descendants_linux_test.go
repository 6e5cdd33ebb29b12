package proc

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/processes"
)

func init() {
	runtime.LockOSThread() // keeps main on the first thread, which playHeadless ends
	roles["last"] = playLast
	roles["deserter"] = playDeserter
	roles["relay"] = playRelay
	roles["bomb"] = playBomb
	roles["headless"] = playHeadless
}

// again starts the test binary in a role, with an empty environment, so that nothing connects the new
// process to this one. It returns without waiting for the new process.
func again(role string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{roleVar + "=" + role, argsVar + "=" + strings.Join(args, " "), noSleep}
	cmd.Stdout = os.Stdout
	must(cmd.Start())
	return cmd
}

// playLast starts a process with another role, waits until that process has printed n process ids, and ends
// all of its own descendants. It prints how many of them it could not end, and how many children it still
// has. The arguments are n, the other role and that role's arguments.
func playLast(args []string) {
	must(AdoptOrphans())
	from, to, err := os.Pipe()
	must(err)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.Stdout = []string{roleVar + "=" + args[1], argsVar + "=" + strings.Join(args[2:], " "), noSleep}, to
	must(cmd.Start())
	lines := bufio.NewScanner(from)
	for range number(args[0]) {
		lines.Scan()
		fmt.Println(lines.Text())
	}
	fmt.Println("left", len(processes.EndDescendants()), len(processes.ChildrenOf(os.Getpid())))
}

// playDeserter joins the process group of another process, whose id is the first argument, and ignores
// all signals that can be ignored.
func playDeserter(args []string) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if len(args) > 0 {
		group, err := syscall.Getpgid(number(args[0]))
		must(err)
		must(syscall.Setpgid(0, group))
	}
	// Start this role twice more, each time in a child of the process before, which then exits.
	for range 2 {
		if len(args) < 2 {
			again("deserter", append(args, "x")...)
			return
		}
		args = append(args, "x")
	}
	ready()
	linger()
}

// playRelay starts a copy of itself and exits. The copy does the same, without an end.
func playRelay(args []string) {
	if len(args) == 0 {
		ready()
	}
	again("relay", "x")
}

// playBomb starts two copies of itself and keeps running. The argument is the number of further
// generations.
func playBomb(args []string) {
	signal.Ignore(syscall.SIGTERM)
	if n := number(args[0]); n > 0 {
		for range 2 {
			again("bomb", strconv.Itoa(n-1))
		}
	}
	ready()
	linger()
}

// playHeadless ends its first thread, so that its process looks dead, and continues in another thread.
func playHeadless([]string) {
	goesOn := make(chan struct{})
	go func() {
		ready()
		close(goesOn)
		linger()
	}()
	<-goesOn
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

// TestNothingOutlivesTheProgram checks that EndDescendants ends descendants that try to escape in
// different ways.
func TestNothingOutlivesTheProgram(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"another group":      "1 deserter " + strconv.Itoa(os.Getpid()),
		"a session":          "1 parent setsid wiped lingering -- stubborn 1 2 15",
		"orphans of orphans": "1 parent setsid wiped -- parent setsid wiped -- stubborn 15",
		"a relay":            "1 relay",
		"a bomb":             "20 bomb 5",
		"a headless process": "1 headless",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), roleVar+"=last", argsVar+"="+args, noSleep)
			out, err := cmd.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			assert.NilError(t, err)
			assert.Equal(t, lines[len(lines)-1], "left 0 0", "got %q, %v, want nothing left", out, err)
			for _, line := range lines[:len(lines)-1] {
				pid := number(line)
				wantGone(t, pid)
			}
		})
	}
}
