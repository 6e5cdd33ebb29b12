// Package runner drives a run: it has backends run agents and scripts, decides what follows from
// their answers, saves the run, and reports events.
//
// One goroutine, the owner, holds the *state.Run. Only the owner decides (with the pure
// functions of state and protocol), saves and reports. Each invocation runs in a worker, a
// goroutine that gets an Order and sends its answer over one channel. The order of every step
// is: decide, save, report, start.
package runner

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// message is a message from a worker to the owner.
type message struct {
	agent    string
	progress *Progress // nil in the last message of an invocation
	answer   Answer
	failure  *Failure
	verified *state.Verification
}

// Runner is the owner of one run.
type Runner struct {
	cfg          Config
	run          *state.Run
	here         state.Here   // the jobs and agents that run in this process
	mail         chan message // from the workers
	busy         int          // number of workers that have not answered
	end          context.CancelCauseFunc
	updates      <-chan QuestionUpdate // from the Prompter; nil without a Prompter
	stop         *state.Stop           // set when nothing new may start
	alarms       alarms
	progressLog  progressLog
	snapshots    snapshotBarrier
	untrusted    map[string]underway // untrusted invocations that are running, by agent
	isFirstSave  bool                // true until this segment of the run has been saved
	offerPending bool                // true until Config.Checkpoints has accepted the last step
}

// New returns a Runner for a run that is new or was read from a store.
func New(cfg Config, run *state.Run) *Runner {
	if cfg.Redact == nil {
		cfg.Redact = func(text string) string { return text }
	}
	cfg.Clock.Tick = cmp.Or(cfg.Clock.Tick, time.Second)
	r := &Runner{
		cfg: cfg, run: run, mail: make(chan message, mailbox), isFirstSave: true,
		snapshots: snapshotBarrier{workplaces: map[string]*workplace{}}, untrusted: map[string]underway{},
		here: state.Here{
			Jobs: cfg.Jobs, JobOf: cfg.Workflow.JobOf, Part: cfg.Part, NewToken: cfg.NewToken, HasJoin: cfg.Workflow.HasJoin(),
		},
	}
	r.progressLog = progressLog{cfg: &r.cfg, excerpts: map[string]*Excerpt{}}
	if cfg.Prompter != nil {
		r.updates = cfg.Prompter.Updates()
		r.here.HasRead = cfg.Prompter.HasRead
	}
	return r
}

// Run drives the run until nothing more can be done. After that, State returns the run with its
// final status. An error means that the run could not be saved; its files then contain the last
// step that was saved. If override is not nil, it replaces the options of the run.
func (r *Runner) Run(ctx context.Context, resumed bool, override *state.Options) error {
	ctx, end := context.WithCancelCause(ctx)
	r.end = end
	defer r.drain()
	if r.cfg.Deadline > 0 {
		r.alarms.deadline = cmp.Or(r.cfg.StartTime, r.now()).Add(r.cfg.Deadline)
	}
	r.updateQuestions(false)
	var known []QuestionUpdate // pending updates count even if the run can't continue now
	for isEmpty := false; !isEmpty; {
		select {
		case u := <-r.updates:
			known = append(known, u)
		default:
			isEmpty = true
		}
	}
	err := r.advance(ctx, func(step *state.Step) {
		if override != nil {
			step.Override(*override, r.cfg.Workflow.Hashes())
		}
		if resumed {
			step.Resume(r.cfg.lostUsage(r.run))
		} else {
			step.Begin()
		}
		for _, u := range known {
			u.apply(step)
		}
	})
	if err != nil {
		return err
	}
	return r.loop(ctx)
}

// State returns the current run. It must not be called during Run.
func (r *Runner) State() *state.Run { return r.run }

// now returns the time of the runner's clock.
func (r *Runner) now() time.Time { return r.cfg.Clock.Now() }

// receive handles a message from a worker, together with the messages that arrived while the
// previous step was saved. All invocations that have ended become one step.
func (r *Runner) receive(ctx context.Context, m message) error {
	var ends []func(*state.Step)
	var failed error
	for _, m := range r.batch(m) {
		if m.progress == nil {
			ends = append(ends, r.handleEnd(m)) // also after a failure, because it counts the worker as done
		} else if failed == nil {
			failed = r.handleProgress(m)
		}
	}
	if failed != nil || len(ends) == 0 {
		return failed
	}
	return r.advance(ctx, func(step *state.Step) {
		for _, end := range ends {
			end(step)
		}
	})
}

// handleProgress handles a report about a running invocation.
func (r *Runner) handleProgress(m message) error {
	p := m.progress
	a, _ := r.run.Agent(m.agent)
	switch {
	case p.Metered != nil || p.CLIID != "":
		// The tokens that an invocation has used so far, or the CLI's own id of its conversation, are
		// saved in a step without events, so that a crash can't lose them.
		if a.Status != state.Busy || a.Exec == nil || a.Exec.Running == nil {
			return nil
		}
		step := r.run.Step(r.now())
		var used []state.Usage
		if p.Metered != nil {
			used = *p.Metered
		}
		step.RecordProgress(a.ID, used, p.CLIID)
		return r.commit(step.Delta())
	case p.Refused != "":
		r.cfg.Cages.RecordRefusal(p.Refused)
	default:
		r.progressLog.progress(r.run, a, *p)
	}
	return nil
}

// handleEnd handles the last message of an invocation. It returns a function that adds the end of
// the invocation to a step.
func (r *Runner) handleEnd(m message) func(*state.Step) {
	a, _ := r.run.Agent(m.agent)
	r.busy--
	if other, ok := r.untrusted[a.ID]; ok {
		close(other.ended)
		delete(r.untrusted, a.ID)
	}
	r.progressLog.end(r.run, a)
	for _, note := range m.answer.Notes {
		r.progressLog.note(r.run, a, note)
	}
	st := r.cfg.state(a)
	if m.verified != nil {
		return func(step *state.Step) { step.EndVerification(a.ID, st, *m.verified) }
	}
	outcome := r.outcome(a, st, m)
	return func(step *state.Step) { step.End(a.ID, st, outcome) }
}

// outcome returns the result of an invocation: its cost, and the decision or the problems that its
// message contains.
func (r *Runner) outcome(a *state.Agent, st *protocol.State, m message) state.Outcome {
	w, hold := m.answer, r.cfg.Hold
	if hold < 0 {
		hold = endlessLimitHold
	}
	o := state.Outcome{
		Session: w.SessionID, Model: w.Model, Cost: w.Cost, Turns: w.Turns, Refusals: w.Refusals, Failure: m.failure,
		Process: w.Process,
		Script:  w.Script, Hold: hold,
	}
	if st.Kind == protocol.Prompt {
		var note string
		o.Cost, o.Used, note = r.cfg.finalCost(a, workDir(r.run, a), o.Cost)
		if note != "" {
			r.progressLog.note(r.run, a, note)
		}
	}
	if m.failure != nil {
		f := *m.failure
		f.Message = r.cfg.Redact(f.Message)
		o.Failure = &f
		if st.Policy.Convergence == nil {
			return o
		}
	}
	o.Decision, o.Problems = r.cfg.Workflow.Decide(st.Name, w.Text, a.ReturnState(), r.run.Meta)
	if broken := protocol.FindBrokenState(o.Problems); broken != nil {
		o.Problems, o.Failure = nil, &Failure{Class: Fatal, Message: broken.Message}
		return o
	}
	if len(o.Problems) > 0 {
		o.Reminder = r.cfg.Workflow.Reminder(st.Name, o.Problems)
	}
	return o
}

// decideNothing is a function for advance that adds nothing to the step.
func decideNothing(*state.Step) {}

// advance makes a step. It calls decide, and adds the invocations that can start now or the end of
// the run. Then it saves and reports the step, and only after that starts the invocations.
func (r *Runner) advance(ctx context.Context, decide func(*state.Step)) error {
	decide = r.reachDeadline(decide)
	step := r.newStep(r.now())
	decide(step)
	step.UpdateWaits(r.here)
	var starts []Order
	if r.stop == nil {
		starts = r.schedule(step)
	}
	if r.busy+len(starts) == 0 && (r.stop != nil || !r.holds(step)) {
		closing := step.Closing(r.stop)
		if closing.Status == state.Suspended && r.cfg.Checkpoints != nil {
			// A run that could not be resumed fails instead of being suspended.
			if err := r.cfg.Checkpoints.CheckResumable(slices.Collect(step.Agents())); err != nil {
				closing = closing.AsFailed(err)
			}
		}
		step.Close(closing)
		if m := r.cfg.Matrix; m != nil {
			step.HandOver(m.Job, m.MaxJobs)
		}
	}
	asked, wereOpen := r.run.Progress.Questions, len(r.run.OpenQuestions()) > 0
	if err := r.commit(step.Delta()); err != nil {
		return err
	}
	r.updateAllowance()
	for _, e := range r.run.Events {
		r.cfg.Reporter.Report(e)
	}
	r.snapshots.update(&r.cfg, r.run)
	w := worker{cfg: &r.cfg, mail: r.mail, snapshotDone: r.snapshots.done}
	for _, o := range starts {
		if r.cfg.RunsTrustedAlone && !o.Script.IsTrusted {
			r.untrusted[o.Agent] = underway{o.Agent + " (" + o.State + ")", make(chan struct{})}
		}
	}
	w.others = slices.Collect(maps.Values(r.untrusted))
	for _, o := range starts {
		r.busy++
		go w.work(ctx, o)
		if a, ok := r.run.Agent(o.Agent); ok && o.Note != "" {
			r.progressLog.note(r.run, a, o.Note)
		}
	}
	r.updateQuestions(wereOpen)
	r.offerPending = r.cfg.Checkpoints != nil
	r.offer()
	if r.run.Progress.Questions > asked && r.isOver() {
		return r.advance(ctx, decideNothing)
	}
	return nil
}

// schedule adds the next invocations to a step, as many as may run, and returns their orders.
func (r *Runner) schedule(step *state.Step) (starts []Order) {
	for {
		a, ok := step.Schedule().Next(r.busy + len(starts))
		if !ok {
			return starts
		}
		st := r.cfg.state(a)
		plan := r.cfg.plan(a, st, step.Options())
		if plan.FailureReason != "" {
			step.Start(a.ID, state.Launch{State: st, Plan: plan})
			continue
		}
		dir := workDir(r.run, a)
		l := state.Launch{State: st, Plan: plan, Cwd: dir}
		switch plan.Mode {
		case state.Fresh, state.Branch:
			l.SessionID = r.cfg.NewID()
		case state.Resume:
			l.SessionID, l.Length = plan.Session.ID, plan.Cut
			if n, ok := r.cfg.Agents[plan.Backend].Length(Conversation{ID: plan.Session.ID, CLI: plan.Session.CLIID, Dir: dir}); ok && l.Length == nil {
				l.Length = &n
			}
		}
		if v := st.Policy.Convergence; v != nil && a.Exec == nil && len(v.Protect) > 0 {
			o := Order{Dir: dir, Checks: &Checks{Protect: v.Protect, Copies: r.cfg.copies(a)}}
			if r.cfg.Cages != nil {
				o.Cage = r.cfg.Cages.Agent(dir)
			}
			l.Protected = r.cfg.Verifier.SaveProtected(o)
		}
		x := invocation{cfg: &r.cfg, run: r.run, agent: step.Start(a.ID, l), state: st}
		starts = append(starts, x.order(step, l))
	}
}

// commit saves a step, and only then makes it part of the run in memory. The first and the last step
// are saved with a snapshot, so that the snapshot is complete without the journal. A step is also
// saved with a snapshot if the journal is full.
func (r *Runner) commit(d *state.Delta) error {
	if r.isFirstSave || d.Progress.Status != state.Running || r.cfg.Store.Full() {
		next := r.run.With(d)
		if err := r.cfg.Store.WriteSnapshot(next, d); err != nil {
			return err
		}
		r.run, r.isFirstSave = next, false
		return nil
	}
	if err := r.cfg.Store.Append(d); err != nil {
		return err
	}
	r.run.Apply(d)
	return nil
}

// updateAllowance passes the remaining budget to the meter.
func (r *Runner) updateAllowance() {
	if r.cfg.Meter == nil {
		return
	}
	left := r.run.Options.Remaining(r.run.Progress.TotalUSD)
	var running []string
	for _, a := range r.run.Agents {
		if a.Exec != nil && a.Exec.Running != nil {
			running = append(running, markOf(r.run, a))
		}
	}
	r.cfg.Meter.SetAllowance(left, running)
}
