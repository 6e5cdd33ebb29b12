package proc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/internal/processes"
)

// The tests start the test binary itself as a child. roleVar selects the child's behavior from roles,
// and argsVar contains the arguments of that role.
const (
	roleVar = "PROC_TEST_ROLE"
	argsVar = "PROC_TEST_ARGS"

	// If boundVar is set, playConductor starts its child with NoNewPrivs.
	boundVar = "PROC_TEST_BOUND"
	// If undumpableVar is set, other processes can't read the process.
	undumpableVar = "PROC_TEST_UNDUMPABLE"
)

// noSleep is a variable that prevents the race detector from delaying the exit of a child by a second.
const noSleep = "GORACE=atexit_sleep_ms=0"

// roles maps each role to its function. Some files of tests add more roles.
var roles = map[string]func(args []string){
	"exit":      func(args []string) { os.Exit(number(args[0])) },
	"die":       func(args []string) { kill(os.Getpid(), syscall.Signal(number(args[0]))); linger() },
	"print":     func(args []string) { fmt.Print(strings.Join(args, " ")) },
	"complain":  func(args []string) { fmt.Fprint(os.Stderr, strings.Join(args, " ")) },
	"env":       func([]string) { fmt.Print(strings.Join(os.Environ(), "\n")) },
	"cat":       func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"linger":    func([]string) { ready(); linger() },
	"stubborn":  playStubborn,
	"polite":    playPolite,
	"teller":    playTeller,
	"flood":     playFlood,
	"parent":    playParent,
	"conductor": playConductor,
	"crowded":   playCrowded,
	"sweeper":   playSweeper,
	"spied":     playSpied,
}

// TestMain runs a role if roleVar is set, and the tests otherwise.
func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleVar)]; ok {
		role(strings.Fields(os.Getenv(argsVar)))
		os.Exit(0)
	}
	protect()
	// Some helpers start children without Run. Their orphans must become children of this process too.
	must(AdoptOrphans())
	os.Exit(m.Run())
}

// protect makes this process unreadable for other processes if undumpableVar is set.
func protect() {
	if os.Getenv(undumpableVar) != "" {
		must(MakeUndumpable())
	}
}

// linger blocks until a signal ends the process. It returns after ten minutes, in case a test doesn't
// end the process.
func linger() {
	<-time.After(10 * time.Minute)
}

// ready prints the id of this process. Tests read the line to find out that the role has started.
func ready() { fmt.Println(os.Getpid()) }

// playStubborn ignores the signals with the given numbers and waits.
func playStubborn(args []string) {
	for _, a := range args {
		signal.Ignore(syscall.Signal(number(a)))
	}
	ready()
	linger()
}

// playPolite exits with code 0 when it receives SIGINT.
func playPolite([]string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT)
	ready()
	<-c
}

// playTeller prints the number of each signal that it receives, and continues.
func playTeller([]string) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	ready()
	for s := range c {
		fmt.Println(int(s.(syscall.Signal)))
	}
}

// playFlood writes a given number of MiB of the same letter to stdout or stderr.
func playFlood(args []string) {
	to := os.Stdout
	if args[1] == "stderr" {
		to = os.Stderr
	}
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range number(args[0]) {
		if _, err := to.Write(block); err != nil {
			os.Exit(9)
		}
	}
}

// playParent starts a process with another role and prints that process's id. The words before "--" in
// its arguments determine how it starts the process and what it does after that. The other role and its
// arguments follow.
func playParent(args []string) {
	how, part, _ := strings.Cut(strings.Join(args, " "), " -- ")
	role, rest, _ := strings.Cut(part, " ")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+role, argsVar+"="+rest)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: strings.Contains(how, "setsid")}
	if strings.Contains(how, "wiped") {
		cmd.Env = []string{roleVar + "=" + role, argsVar + "=" + rest, noSleep}
	}
	from, to, err := os.Pipe()
	must(err)
	cmd.Stdout = to
	if strings.Contains(how, "leaky") {
		cmd.Stderr = os.Stderr // the process keeps the other end of stderr open
	}
	must(cmd.Start())
	to.Close()
	line, err := bufio.NewReader(from).ReadString('\n')
	must(err)
	fmt.Println(strings.TrimSpace(line))
	switch {
	case strings.Contains(how, "waiting"):
		must(cmd.Wait())
	case strings.Contains(how, "lingering"):
		linger()
	case strings.Contains(how, "until-usr1"):
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGUSR1)
		fmt.Println(os.Getpid())
		<-c
	}
}

// playConductor runs a role as a child with Run, as raymond does, until it is killed.
func playConductor(args []string) {
	protect()
	role, rest, _ := strings.Cut(strings.Join(args, " "), " ")
	s := part(role, rest)
	s.Mark, s.Stdout, s.DeathSignal = os.Getenv(MarkVar)+".7", os.Stdout, syscall.SIGTERM
	s.NoNewPrivs = os.Getenv(boundVar) != ""
	_, err := Run(context.Background(), s)
	must(err)
}

// playSweeper calls Sweep with the role's argument, which is the mark in this process's own environment.
func playSweeper(args []string) {
	n, err := Sweep(args[0])
	fmt.Println(n, err)
}

// must ends the process with exit code 99 if err is not nil.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	must(err)
	return n
}

func kill(pid int, sig syscall.Signal) { must(syscall.Kill(pid, sig)) }

// part returns the options for a child with a role.
func part(role, args string) Options {
	return Options{
		Path: os.Args[0], Mark: newMark(),
		Env:    append(os.Environ(), roleVar+"="+role, argsVar+"="+args, noSleep),
		Ladder: Ladder{Term: 300 * time.Millisecond, Kill: 300 * time.Millisecond},
	}
}

// marks counts the marks that newMark has returned.
var marks struct {
	mu sync.Mutex // guards n
	n  int
}

// newMark returns a mark that no other child of the tests has.
func newMark() string {
	marks.mu.Lock()
	defer marks.mu.Unlock()
	marks.n++
	return fmt.Sprintf("%d.%d", os.Getpid(), marks.n)
}

// announcements is a writer for a child's output, in which each line is a number.
type announcements struct {
	lines Lines
	pids  chan int
}

// announced returns a writer that receives the numbers that a child prints.
func announced() *announcements {
	a := &announcements{pids: make(chan int, 16)}
	a.lines.Max = 100
	a.lines.Line = func(line []byte, _ bool) { a.pids <- number(string(line)) }
	return a
}

// Write implements io.Writer.
func (a *announcements) Write(p []byte) (int, error) { return a.lines.Write(p) }

// next returns the next number. If there is none yet, it waits for one.
func (a *announcements) next(t *testing.T) int {
	t.Helper()
	select {
	case pid := <-a.pids:
		return pid
	case <-time.After(2 * time.Minute):
		t.Fatal("the child did not announce itself within two minutes")
		return 0
	}
}

// running is a call of Run that is running in another goroutine.
type running struct {
	exit chan Exit
	stop context.CancelCauseFunc
}

// inBackground calls Run in another goroutine.
func inBackground(t *testing.T, s Options) *running {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &running{exit: make(chan Exit, 1), stop: cancel}
	go func() {
		e, err := Run(ctx, s)
		if err != nil {
			t.Errorf("Run: %v", err)
		}
		r.exit <- e
	}()
	return r
}

// wait waits until Run has returned.
func (r *running) wait(t *testing.T) Exit {
	t.Helper()
	select {
	case e := <-r.exit:
		return e
	case <-time.After(2 * time.Minute):
		t.Fatal("Run did not return within two minutes")
		return Exit{}
	}
}

// run calls Run and fails the test if the child can't be started.
func run(t *testing.T, s Options) Exit {
	t.Helper()
	return inBackground(t, s).wait(t)
}

// alive reports whether a process exists, even if it has died and has not been collected.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// wantGone fails the test if a process still exists, and kills that process.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if alive(pid) {
		p, _ := processes.Stat(pid)
		t.Errorf("process %d is still there: %+v", pid, p)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
