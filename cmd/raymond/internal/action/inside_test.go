//go:build linux

package action_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/action"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
)

// patience is when a test that waits for a step gives up, which no step that works needs.
const patience = 5 * time.Minute

// deadline is that of steps whose scripts say "late".
const deadline = 10 * time.Hour

// running is a part of a step that runs in the process of the test. It starts no other
// process than git: agents and scripts are played by stub and bash.
type running struct {
	j              *bareJob
	stdout, stderr *os.File
	signals        chan os.Signal
	Done           chan struct{} // closed when it has ended
	code           int
	began, ended   time.Time
	life           context.Context // of the process that it stands for
	die            func()
	acts           sync.RWMutex // held for reading by what it has started
	late           string       // the file that is there when a script has said "late"
}

// alive are those processes that have not ended, by the ids of their steps.
var alive sync.Map

// command begins a part of the step: action or action-post.
func (j *bareJob) command(part string) *running {
	j.T.Helper()
	j.Prepare(part)
	c := &running{j: j, signals: make(chan os.Signal, 4), Done: make(chan struct{}), began: time.Now(), late: filepath.Join(j.T.TempDir(), "late")}
	c.life, c.die = context.WithCancel(context.Background())
	var err, faulty error
	c.stdout, err = os.Create(c.late + ".stdout")
	c.stderr, faulty = os.Create(c.late + ".stderr")
	assert.NilError(j.T, errors.Join(err, faulty))
	e := c.env()
	run := action.Run
	if part == "action-post" {
		run = action.Post
	}
	go func() {
		defer close(c.Done)
		defer c.die()
		c.code = exitCode(c.stderr, run(e))
		c.ended = time.Now()
		_ = errors.Join(c.stdout.Close(), c.stderr.Close())
	}()
	j.T.Cleanup(func() { // for a test that ends before
		c.die()
		c.Signal(os.Interrupt)
		<-c.Done
	})
	return c
}

// env is what the step has instead of a machine.
func (c *running) env() action.Env {
	j := c.j
	self := slots.Process{Machine: "this one", PID: 1, Started: uuid.NewString()}
	alive.Store(self.Started, c.life)
	return action.Env{
		Version: "dev", Environ: j.Environ(), Stdout: c.stdout, Stderr: c.stderr, Run: j.tool, Transport: c,
		Clock: runner.Clock{Now: c.now, After: time.After},
		Process: action.Process{
			Protect: func() error { return nil },
			Enter:   filepath.EvalSymlinks,
			Gone:    func(action.Env) []<-chan struct{} { return nil },
			Signals: c.signals,
			Self:    func() slots.Process { return self },
			Alive: func(p slots.Process) (isAlive, known bool) {
				life, known := alive.Load(p.Started)
				return known && life.(context.Context).Err() == nil, known
			},
			EndAll: func() []string { return nil },
			Signal: func(_ int, s os.Signal) error {
				if j.late != nil {
					j.late.Signal(s)
				}
				return nil
			},
		},
		Backends: session.Backends{
			Agents: func(cfg clis.Config) map[string]runner.AgentCLI {
				j.mu.Lock()
				j.agents = cfg
				j.mu.Unlock()
				all := clis.New(cfg)
				for name, a := range all {
					all[name] = runner.WithBackend(a, &stub{j: j, env: cfg.Environ(name), step: c})
				}
				return all
			},
			Scripts: func(e session.Env) runner.Backend { return &bash{env: e.Common, trusted: e.Trusted, step: c} },
			Checks:  func(env []string) runner.Verifier { return &bash{env: env, step: c} },
		},
	}
}

// now is the time of the step's clock.
func (c *running) now() time.Time {
	if sitetest.Exists(c.late) {
		return time.Now().Add(deadline)
	}
	return time.Now()
}

// exitCode tells an error as the program does, and returns its exit code.
func exitCode(stderr io.Writer, err error) int {
	code := 0
	for _, p := range problem.Flatten(err) {
		if code == 0 {
			code = p.ExitCode()
		}
		if !p.IsReported {
			fmt.Fprintln(stderr, "raymond: "+p.Error())
		}
	}
	return code
}

// Wait returns how the part ended.
func (c *running) Wait() sitetest.Outcome {
	c.j.T.Helper()
	select {
	case <-c.Done:
	case <-time.After(patience):
		c.j.T.Fatalf("step of workflow run %d: got no end within %v\n%s", c.j.Run, patience, sitetest.Read(c.j.T, c.stdout.Name()))
	}
	return sitetest.Outcome{Code: c.code, Stdout: sitetest.Read(c.j.T, c.stdout.Name()), Stderr: sitetest.Read(c.j.T, c.stderr.Name()), Took: c.ended.Sub(c.began)}
}

// Until waits for a condition that the running step brings about.
func (c *running) Until(what string, cond func() bool) {
	c.j.T.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-c.Done:
			if !cond() {
				c.j.T.Fatalf("%s: the step ended before\n%v", what, c.Wait())
			}
			return
		}
		assert.Assert(c.j.T, time.Since(c.began) <= patience, "%s: got nothing within %v", what, patience)
	}
}

// Kill has the step end as a process does that is killed: nothing that it does from now on is
// seen by anybody. What it has written so far is what the post part finds.
func (c *running) Kill() {
	j := c.j
	j.T.Helper()
	old := j.Temp
	err := fs.ErrNotExist // of a file that has gone while it was copied
	for errors.Is(err, fs.ErrNotExist) {
		j.Temp = filepath.Join(filepath.Dir(old), "temp-"+uuid.NewString())
		err = os.CopyFS(j.Temp, os.DirFS(old))
	}
	assert.NilError(j.T, err)
	for name, value := range j.Env {
		if rest, ok := strings.CutPrefix(value, old); ok && name != "PATH" {
			j.Env[name] = j.Temp + rest
		}
	}
	c.die()
	c.acts.Lock()
	c.acts.Unlock() //nolint:staticcheck // nothing acts any more
	c.Signal(os.Interrupt)
}

// acting returns the context of something that the step starts, which ends when the step is
// killed, and what is to be called at its end.
func (c *running) acting(ctx context.Context) (context.Context, func()) {
	c.acts.RLock()
	ctx, cancel := context.WithCancelCause(ctx)
	if c.life.Err() != nil {
		cancel(errKilled)
	}
	stop := context.AfterFunc(c.life, func() { cancel(errKilled) })
	return ctx, func() {
		stop()
		cancel(nil)
		c.acts.RUnlock()
	}
}

var errKilled = errors.New("killed")

// RoundTrip implements http.RoundTripper. Nobody answers a step that was killed.
func (c *running) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.life.Err() != nil {
		return &http.Response{StatusCode: http.StatusBadRequest, Body: http.NoBody, Request: r}, nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Signal sends a signal to the step.
func (c *running) Signal(sig os.Signal) { c.signals <- sig }
