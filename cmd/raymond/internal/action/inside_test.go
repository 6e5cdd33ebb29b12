//go:build linux

package action_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
)

// patience is the time limit for a step. No working step needs that long.
const patience = 5 * time.Minute

// deadline is the deadline of steps whose scripts call late.
const deadline = 10 * time.Hour

// running is the main or post phase of a step in the process of the test. It starts no other
// process than git and bash: stub plays the agent CLIs, and bash runs the scripts.
type running struct {
	j              *bareJob
	stdout, stderr *os.File
	signals        chan os.Signal
	Done           chan struct{} // closed when it has ended
	code           int
	began, ended   time.Time
	life           context.Context // ends with the process that this one simulates
	die            func()
	acts           sync.RWMutex // read-locked by the agents and scripts that it has started
	late           string       // a file that exists once a script has called late
}

// alive has the contexts of all simulated processes, by the values of slots.Process.Started.
var alive sync.Map

// command starts a phase of the step: action or action-post.
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
		for _, p := range problem.Flatten(run(e)) { // as the program does
			if c.code == 0 {
				c.code = p.ExitCode()
			}
			if !p.IsReported {
				fmt.Fprintln(c.stderr, "raymond: "+p.Error())
			}
		}
		c.ended = time.Now()
		_ = errors.Join(c.stdout.Close(), c.stderr.Close())
	}()
	j.T.Cleanup(func() { // in case the test ends first
		c.die()
		c.Signal(os.Interrupt)
		<-c.Done
	})
	return c
}

// env returns the environment of the step.
func (c *running) env() action.Env {
	j := c.j
	self := slots.Process{Machine: "this one", PID: 1, Started: uuid.NewString()}
	alive.Store(self.Started, c.life)
	interval := time.Minute
	if j.isOften {
		interval = time.Second
	}
	return action.Env{
		Version: "dev", Environ: j.Environ(), Stdout: c.stdout, Stderr: c.stderr, Run: j.tool, Transport: c, Interval: interval,
		Clock: runner.Clock{Now: c.now, After: time.After},
		NewStore: func(cfg store.Config) store.Store {
			if j.memory == nil || cfg.Inputs.IsLocal() {
				return store.New(cfg)
			}
			return j.memory.Open(cfg)
		},
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

// now returns the time of the step's clock.
func (c *running) now() time.Time {
	if sitetest.Exists(c.late) {
		return time.Now().Add(deadline)
	}
	return time.Now()
}

// Wait returns how the phase ended.
func (c *running) Wait() sitetest.Outcome {
	c.j.T.Helper()
	select {
	case <-c.Done:
	case <-time.After(patience):
		c.j.T.Fatalf("step of workflow run %d: got no end within %v\n%s", c.j.Run, patience, sitetest.Read(c.j.T, c.stdout.Name()))
	}
	return sitetest.Outcome{Code: c.code, Stdout: sitetest.Read(c.j.T, c.stdout.Name()), Stderr: sitetest.Read(c.j.T, c.stderr.Name()), Took: c.ended.Sub(c.began)}
}

// Until waits until cond returns true, which the running step must bring about.
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

// Kill makes the step end like a killed process: its further actions have no effect. The post phase
// finds the files that it has written so far.
func (c *running) Kill() {
	j := c.j
	j.T.Helper()
	assert.Assert(j.T, j.memory == nil, "a step that has access to a store in memory can't be killed")
	old := j.Temp
	err := fs.ErrNotExist // a file may disappear while it is copied
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
	c.acts.Unlock() //nolint:staticcheck // waits until no agent or script runs
	c.Signal(os.Interrupt)
}

// acting returns a context for an agent or script of the step, which ends when the step is killed,
// and a function to call at its end.
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

// RoundTrip implements http.RoundTripper. A killed step gets no answers.
func (c *running) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.life.Err() != nil {
		return &http.Response{StatusCode: http.StatusBadRequest, Body: http.NoBody, Request: r}, nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Signal sends a signal to the step.
func (c *running) Signal(sig os.Signal) { c.signals <- sig }
