package proc

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner/internal/proc/procfs"
)

// daemon is a process that wants to stay: it ignores what it can, forks until its
// parent is nobody's, and has nothing of ours in its environment. Its arguments name
// it for the tests.
const daemon = `trap "" TERM INT HUP
(sh -c 'while :; do sleep 300; done' "$0" </dev/null >/dev/null 2>&1 &)
sleep 0.1`

// hopper is never the same process for longer than a moment.
const hopper = `trap "" TERM INT HUP
exec </dev/null >/dev/null 2>&1
hop() { hop & }
hop`

// spawner forks all the time, and forks again what it has lost.
const spawner = `trap "" TERM INT HUP
for i in 1 2 3; do
	sh -c 'trap "" TERM; n=0; while [ $n -lt 2000 ]; do sleep 300 & n=$((n+1)); done' "$0" </dev/null >/dev/null 2>&1 &
done
sleep 0.1`

// playAttacker starts a script under a name, with an empty environment, after it has
// done what the first word says. The second word is the process whose group the
// script shall join.
func playAttacker(args []string) {
	scripts := map[string]string{"daemon": daemon, "hopper": hopper, "spawner": spawner}
	cmd := exec.Command("/bin/sh", "-c", scripts[args[2]], args[3])
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	group, err := syscall.Getpgid(number(args[1]))
	must(err)
	switch args[0] {
	case "group":
		cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pgid = true, group
	case "session":
		cmd.SysProcAttr.Setsid = true
	case "kills":
		kill(os.Getppid(), syscall.SIGKILL)
		cmd.SysProcAttr.Setsid = true
	case "stops":
		kill(os.Getppid(), syscall.SIGSTOP)
		cmd.SysProcAttr.Setsid = true
	}
	if err := cmd.Run(); err != nil && args[0] == "group" {
		fmt.Println("refused")
		cmd = exec.Command("/bin/sh", "-c", scripts[args[2]], args[3])
		cmd.Env = []string{}
		must(cmd.Run())
	}
}

// named returns the live processes that have a name among their arguments.
func named(name string) []int {
	var found []int
	for pid, p := range procfs.All() {
		if !p.Dying && pid != os.Getpid() && strings.Contains(procfs.CommandLine(pid), name) {
			found = append(found, pid)
		}
	}
	return found
}

// TestAttackersDoNotOutliveTheirChild holds that what a child has started is gone
// when Run returns, whatever it does to be forgotten: it joins the process group of
// this process, or has a session of its own, kills the supervisor or stops it, ignores
// signals, forks all the time. Another child's daemon goes on meanwhile.
func TestAttackersDoNotOutliveTheirChild(t *testing.T) {
	s, a := part("parent", "setsid wiped until-usr1 -- linger"), announced()
	s.Stdout = a
	other := inBackground(t, s)
	kept, parent := a.next(t), a.next(t)
	for _, how := range []string{"plain", "group", "session", "kills", "stops"} {
		for _, what := range []string{"daemon", "hopper", "spawner"} {
			attack(t, how, what)
		}
		if !alive(kept) {
			t.Fatalf("%s: the daemon of another child was ended", how)
		}
	}
	kill(parent, syscall.SIGUSR1)
	if e := other.wait(t); e.Swept != 1 || e.Left != 0 || e.Code != 0 {
		t.Errorf("the other child: got %+v", e)
	}
	wantGone(t, kept)
	wantNoStrays(t, "all attacks")
}

func attack(t *testing.T, how, what string) {
	t.Helper()
	name := fmt.Sprintf("attack-%s-%s-%d", how, what, time.Now().UnixNano())
	s := part("attacker", fmt.Sprintf("%s %d %s %s", how, os.Getpid(), what, name))
	s.Timeout = time.Minute
	if how == "stops" {
		s.Timeout = 2 * time.Second
	}
	var out strings.Builder
	s.Stdout = &out
	began := time.Now()
	e := run(t, s)
	t.Logf("%s %s: %v %+v %q", how, what, time.Since(began), e, out.String())
	if left := named(name); len(left) > 0 || e.Left > 0 {
		t.Errorf("%s, %s: %v are alive, %+v", how, what, left, e)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if refused := out.String() == "refused\n"; refused != (how == "group") {
		t.Errorf("%s, %s: joining our process group was refused: %v, %+v", how, what, refused, e)
	}
}

// playEnder starts a daemon as other code of the program would, in the process group
// of this process, and then ends all.
func playEnder(args []string) {
	must(Adopt())
	cmd := exec.Command("/bin/sh", "-c", daemon+"; "+hopper, args[0])
	cmd.Env = []string{}
	must(cmd.Run())
	fmt.Println(EndAll(), len(procfs.Below(os.Getpid())))
}

// TestEndAllLeavesNothing holds that a process has no descendant after EndAll, also
// none in its own process group.
func TestEndAllLeavesNothing(t *testing.T) {
	name := fmt.Sprintf("ender-%d", time.Now().UnixNano())
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), noSleep, roleVar+"=ender", argsVar+"="+name)
	out, err := cmd.CombinedOutput()
	if left := named(name); err != nil || string(out) != "[] 0\n" || len(left) > 0 {
		t.Errorf("got %q, %v, alive: %v", out, err, left)
	}
}
