//go:build linux && world

package acttest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// markVar is set for everything that runs on a machine, to its folder. The
// folder is also in HOME, which is passed on where other variables are not.
const markVar = "ACTTEST"

// limit is how long a run may take.
const limit = 5 * time.Minute

// Running is a workflow run under way. Its methods are for the test's own
// goroutine.
type Running struct {
	t       testing.TB
	machine *machine
	cmd     *exec.Cmd
	began   time.Time
	done    chan struct{} // closed when act has ended and its output is read

	mu     sync.Mutex // guards what follows
	result *Result
	stderr bytes.Buffer
}

// Run makes the event happen and waits for the end of all its jobs. It ends the
// test when act can't be started, and fails it when the limit is reached.
func Run(t testing.TB, c Config) *Result {
	t.Helper()
	return Start(t, c).Wait()
}

// Start makes the event happen. Whatever runs on the machine when the test ends
// is ended with it.
func Start(t testing.TB, c Config) *Running {
	t.Helper()
	act, m := Install(t), newMachine(t)
	if c.Artifacts == "" {
		c.Artifacts = t.TempDir()
	}
	r := &Running{t: t, machine: m, done: make(chan struct{}), result: &Result{}}
	r.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), act, m.args(c)...)
	r.cmd.Dir, r.cmd.Env = c.Repo, m.environ(c)
	r.cmd.Stderr = writer(r.takeError)
	dieWithTest(r.cmd)
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	// What a killed act leaves behind may hold its pipes open.
	r.cmd.WaitDelay = time.Second
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.began = time.Now()
	t.Cleanup(r.leave)
	go r.read(out)
	return r
}

// read takes act's output until its end.
func (r *Running) read(out io.Reader) {
	defer close(r.done)
	lines := newLines(out)
	for lines.Scan() {
		r.mu.Lock()
		r.result.take(lines.Bytes())
		r.mu.Unlock()
	}
	_ = r.cmd.Wait() // the steps say what there is to say
}

// writer calls itself with what is written.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func (r *Running) takeError(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stderr.Write(p)
}

// Wait waits for the end, after which nothing may be left running, and returns all that
// happened. When the limit is reached the machine is ended and the test fails.
func (r *Running) Wait() *Result {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(time.Until(r.began.Add(limit))):
		r.kill()
		r.t.Errorf("act: got no end within %v\n%v", limit, r.now())
	}
	res := r.now()
	if left := r.left(); len(left) > 0 {
		r.t.Errorf("processes after the end of the run: got %s, want none\n%v", sitetest.Describe(left), res)
	}
	if strings.Contains(res.act, "Skipping unsupported platform") {
		r.t.Errorf("act: a job's runs-on is none of %q, and it was left out", labels)
	}
	return res
}

// settling is how long what act has killed may take to be gone, on a busy machine.
const settling = 10 * time.Second

// left returns the ids of what still runs on the machine after the end.
func (r *Running) left() []int {
	giveUp := time.After(settling)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		pids := r.machine.processes()
		if len(pids) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-giveUp:
			return pids
		}
	}
}

// now returns what has happened so far.
func (r *Running) now() *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.result.clone()
	res.act += r.stderr.String()
	return res
}

// Until waits until what has happened so far fulfils a condition. It ends the
// test when the run ends before, or the limit is reached.
func (r *Running) Until(what string, cond func(*Result) bool) {
	r.t.Helper()
	r.until(what, func() bool { return cond(r.now()) })
}

func (r *Running) until(what string, cond func() bool) {
	r.t.Helper()
	giveUp := time.After(time.Until(r.began.Add(limit)))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-r.done:
			if !cond() {
				r.t.Fatalf("%s: the run ended before\n%v", what, r.now())
			}
			return
		case <-giveUp:
			r.t.Fatalf("%s: got nothing within %v\n%v", what, limit, r.now())
		}
	}
}

// StepProcess waits until a step is running and returns the id of the process
// that the runner started for it, to which the runner of GitHub would send the
// signals of a cancelled job. Jobs must not run side by side.
func (r *Running) StepProcess() int {
	r.t.Helper()
	var pids []int
	r.until("the process of a step", func() bool {
		pids = r.machine.children(r.cmd.Process.Pid)
		return len(pids) == 1
	})
	return pids[0]
}

// kill ends all that runs on the machine.
func (r *Running) kill() {
	_ = r.cmd.Process.Kill() // it may have ended
	r.machine.kill()
	<-r.done
}

// leave is the end of the test.
func (r *Running) leave() {
	r.kill()
	if err := r.machine.remove(); err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Errorf("remove the machine: %v", err)
	}
}
