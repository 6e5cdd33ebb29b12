// Package runner drives a run: it hands agents to backends, takes in what comes
// back, saves, and tells what happened.
//
// One goroutine, the owner, holds the *state.Run; it alone decides (with the pure
// functions of state and protocol), saves and reports. Each invocation runs in a
// worker goroutine that gets an Order and answers over one channel. The order is
// always: decide, save, tell, start.
package runner

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Store keeps the run. After Append or Fold returns nil, what they were given
// survives a crash.
type Store interface {
	Append(*state.Delta) error
	Fold(*state.Run) error
	// Full reports whether it is time to Fold.
	Full() bool
}

// Reporter is told every event, in order, from one goroutine; Tick comes about
// once a second.
type Reporter interface {
	Report(state.Event)
	Tick(now time.Time)
	// Note is a line for people that is no event.
	Note(agent, state, text string)
	// Doing says what an agent does from now on, and, in p.Text, what it said when
	// that is no event. It may come very often.
	Doing(agent, state string, p Progress)
}

// Config is what a Runner needs.
type Config struct {
	Workflow *protocol.Workflow
	Backends map[protocol.Kind]Backend
	Sessions Sessions
	Verifier Verifier
	Store    Store
	Reporter Reporter
	NewID    func() string // a fresh session id
	// ListPrice returns what tokens of a model cost by its maker's price list, and
	// false when that is not known; nil knows none.
	ListPrice func(state.Usage) (state.USD, bool)
	// Redact replaces secrets in what agents say and in what went wrong; nil
	// leaves texts as they are.
	Redact func(string) string
	Clock  Clock

	ScriptDir  string // the private copy of the scope
	PayloadDir string // private; files with the payloads of running scripts
	LogDir     string // logs of verified attempts, below it by agent
	DebugDir   string // "" for none
	Telling    Telling

	// Deadline is the time after which nothing new starts; 0 is none.
	Deadline time.Duration
	// Cancel brings the names of signals that ask the run to end. The first
	// gives states in flight a short grace, the second none.
	Cancel <-chan string

	// Checkpoints stores the run for later jobs; nil when nothing is stored and a
	// suspended run can be resumed where it is.
	Checkpoints Checkpoints
}

// Clock is the time as the runner sees it.
type Clock struct {
	Now func() time.Time
	// After fires once; the owner waits for no other that it asked for before.
	After func(time.Duration) <-chan time.Time
	// Idle, when not nil, is told that the owner is about to wait, and how many
	// workers have not answered yet: a clock that jumps may do so now.
	Idle func(busy int)
}

// RealClock is the clock of the machine.
func RealClock() Clock { return Clock{Now: time.Now, After: time.After} }

// tickEvery is how often reporters are told the time.
const tickEvery = time.Second

// message is what workers send to the owner.
type message struct {
	agent    string
	progress *Progress // nil in the last message of an invocation
	answer   Answer
	failure  *Failure
	verified *state.Verification
}

// Runner owns one run.
type Runner struct {
	cfg    Config
	run    *state.Run
	mail   chan message
	busy   int
	stop   *state.Stop // set once nothing new may start
	end    context.CancelCauseFunc
	orders []Order
	alarms alarms
	said   speeches
	dirty  bool // the store has nothing of this part of the run yet
	due    bool // Config.Checkpoints has not taken the last step yet
}

// New returns a Runner for a run that was made by state.New or read from a store.
func New(cfg Config, run *state.Run) *Runner {
	return &Runner{cfg: cfg, run: run, mail: make(chan message), said: speeches{}, dirty: true}
}

// Run drives the run until nothing more can be done; its progress then says how
// it stands. An error means that the run could not be kept: its files hold the
// last step that was saved. A resume gives the options in force from now on.
func (r *Runner) Run(ctx context.Context, resumed bool, override *state.Options) error {
	ctx, end := context.WithCancelCause(ctx)
	r.end = end
	defer r.drain()
	err := r.advance(ctx, func(step *state.Step) {
		if override != nil {
			step.Override(*override, r.cfg.Workflow.Hashes())
		}
		if resumed {
			step.Resume(r.unbooked())
		} else {
			step.Begin()
		}
	})
	if err != nil {
		return err
	}
	return r.loop(ctx)
}

// State returns the run as it is now. It must not be called while Run runs.
func (r *Runner) State() *state.Run { return r.run }

func (r *Runner) now() time.Time { return r.cfg.Clock.Now() }

// receive takes in one message of a worker.
func (r *Runner) receive(ctx context.Context, m message) error {
	a, ok := r.run.Agent(m.agent)
	if !ok {
		panic("internal error: message of an agent that is gone: " + m.agent)
	}
	if m.progress != nil && m.progress.Metered != nil {
		return r.metered(a, *m.progress.Metered)
	}
	if m.progress != nil {
		r.heard(a, *m.progress)
		return nil
	}
	r.busy--
	for _, note := range m.answer.Notes {
		r.note(a, note)
	}
	st, ok := r.cfg.Workflow.State(a.State)
	if !ok {
		panic("internal error: the workflow has no state " + a.State)
	}
	if m.verified != nil {
		return r.advance(ctx, func(step *state.Step) { step.EndVerification(a.ID, st, *m.verified) })
	}
	o := r.outcome(a, st, m)
	return r.advance(ctx, func(step *state.Step) { step.End(a.ID, st, o) })
}

func (r *Runner) redact(text string) string {
	if r.cfg.Redact == nil {
		return text
	}
	return r.cfg.Redact(text)
}

// outcome judges what an invocation brought.
func (r *Runner) outcome(a *state.Agent, st *protocol.State, m message) state.Outcome {
	w := m.answer
	o := state.Outcome{
		Session: w.SessionID, Model: w.Model, Cost: w.Cost, Turns: w.Turns, Denied: w.Denied, Refusals: w.Refusals, CLI: w.CLI, Prepared: w.Prepared,
		ExitCode: w.ExitCode, Signal: w.Signal, Failure: m.failure,
		StdoutTail: w.Script.StdoutTail, StderrTail: w.Script.StderrTail, LastWords: w.Script.LastWords,
	}
	if st.Kind == protocol.Prompt {
		o.Used = r.used(a, o.Cost)
	}
	if m.failure != nil {
		f := *m.failure
		f.Message = r.redact(f.Message)
		o.Failure = &f
		if st.Policy.Convergence == nil {
			return o
		}
	}
	o.Decision, o.Problems = r.cfg.Workflow.Decide(st.Name, w.Text)
	if broken := protocol.Broken(o.Problems); broken != nil {
		o.Problems, o.Failure = nil, &Failure{Class: Fatal, Message: broken.Message}
		return o
	}
	if len(o.Problems) > 0 {
		o.Reminder = r.cfg.Workflow.Reminder(st.Name, o.Problems)
	}
	return o
}

// nothing makes a step that decides nothing by itself.
func nothing(*state.Step) {}

// advance makes a step and completes it: it adds what can start now, or the end
// of the run, saves, tells, and only then starts.
func (r *Runner) advance(ctx context.Context, decide func(*state.Step)) error {
	r.orders = r.orders[:0]
	step := r.step(decide)
	if r.stop == nil {
		r.schedule(step)
	}
	if r.busy+len(r.orders) == 0 && (r.stop != nil || step.WakeTime().IsZero()) {
		step.Close(r.closing(step))
	}
	if err := r.commit(step.Delta()); err != nil {
		return err
	}
	for _, e := range r.run.Events {
		r.cfg.Reporter.Report(e)
	}
	for _, o := range r.orders {
		r.busy++
		go r.work(ctx, o)
	}
	r.due = r.cfg.Checkpoints != nil
	r.offer()
	return nil
}

// commit makes a step part of the run: on disk first, then in memory. The first
// step and the last go into the snapshot, which is then complete by itself.
func (r *Runner) commit(d *state.Delta) error {
	if r.dirty || d.Progress.Status != state.Running || r.cfg.Store.Full() {
		next := r.run.With(d)
		if err := r.cfg.Store.Fold(next); err != nil {
			return err
		}
		r.run, r.dirty = next, false
		return nil
	}
	if err := r.cfg.Store.Append(d); err != nil {
		return err
	}
	r.run.Apply(d)
	return nil
}

// schedule fills the free slots.
func (r *Runner) schedule(step *state.Step) {
	for {
		a, ok := step.Next(r.busy + len(r.orders))
		if !ok {
			return
		}
		r.orders = append(r.orders, r.start(step, a))
	}
}

// drain ends and waits for the workers that an error left in flight, so that
// nothing outlives Run.
func (r *Runner) drain() {
	r.end(brokenStop)
	for r.busy > 0 {
		if m := <-r.mail; m.progress == nil {
			r.busy--
		}
	}
}
