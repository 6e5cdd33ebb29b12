package state

import (
	"slices"
	"time"
)

// DefaultDir is the default folder for state files.
const DefaultDir = ".raymond/state"

// mainAgent is the name of a run's first agent.
const mainAgent = "main"

// New returns a run with one agent, which is ready to begin the state r.Entry. input is the payload of
// that state. The caller must have set the fields of r that depend on the workflow and the options.
func New(r Run, input string, now time.Time) *Run {
	r.Schema = Schema
	r.Created = stamp(now)
	r.Progress = Progress{Status: Running, Started: r.Created, Created: 1}
	main := &Agent{ID: mainAgent, N: 1, By: "start"}
	main.enter(r.Entry, input)
	r.Agents = []*Agent{main}
	return &r
}

// InterruptedAgents returns the agents with a running invocation of an agent CLI in the saved state. If
// the caller is about to resume the run, these invocations have been interrupted.
func (r *Run) InterruptedAgents() []*Agent {
	var lost []*Agent
	for _, a := range r.Agents {
		if a.Status == Busy && a.Exec.Running != nil && a.Exec.Running.Mode != "" {
			lost = append(lost, a)
		}
	}
	return lost
}

// Begin begins a run that New or Rerun returned, and emits the events about the start of its agents.
func (s *Step) Begin() {
	s.openSegment(false)
	for a := range s.Agents() {
		s.record(Event{Agent: a.ID, State: a.State, Body: &AgentStarted{Parent: a.Parent, Vars: a.Vars}})
		switch {
		case a.Exec != nil && a.Exec.Interrupted != "":
			s.emit(a, a.Exec.interruption())
		case a.Status == Waiting:
			s.limitWait(a)
			s.emit(a, a.Waits.event())
		case a.Status == Stuck:
			s.emit(a, &AgentFinished{Error: a.Failure.Message})
		}
	}
}

// Resume continues the run after a stop or a crash. Interrupted agents repeat their invocation, failed
// agents try again, and new states may start. lost maps the name of each agent in Run.InterruptedAgents
// to an Outcome whose field Used contains the known usage of the interrupted invocation. No other field
// of the Outcome may be set.
func (s *Step) Resume(lost map[string]Outcome) {
	// idle is how long no process drove the run, counted from its last event.
	idle := time.Duration(0)
	if n := len(s.run.Events); n > 0 {
		idle = max(0, s.now.Sub(s.run.Events[n-1].Time))
	}
	s.openSegment(true)
	mayComeLater := func(a *Agent) bool { return a.Status == Waiting && a.Waits.For != ForAgents }
	// If keep_going is set, a run that was suspended or killed does not retry its failed agents while
	// other agents wait for an answer, a time or a job. This resume may have been started for those.
	status := s.run.Progress.Status
	tries := !s.Options().KeepGoing || status != Suspended && status != Running || count(s.members(), mayComeLater) == 0
	for a := range s.members() {
		if a.Exec != nil && idle > 0 {
			s.edit(a.ID).Exec.excludeTime(idle, s.now)
		}
		switch {
		case a.Status == Busy:
			s.interrupt(s.edit(a.ID), lost[a.ID])
		case a.Status == Waiting:
			s.limitWait(a)
		case a.Status == Stuck && tries:
			s.edit(a.ID).prepareRetry()
		case a.Status == Ready && a.NotBefore.After(s.now.Add(time.Duration(a.Wait))):
			s.edit(a.ID).pause(s.now, time.Duration(a.Wait))
		}
		if a.UnknownCosts > 0 || a.Outage != nil {
			// These two fields count only within one process.
			mine := s.edit(a.ID)
			mine.UnknownCosts, mine.Outage = 0, nil
		}
	}
}

// Charge records the known usage of the interrupted invocations without continuing the run. lost has the
// same form as for Resume. The agents repeat these invocations when the run is resumed.
func (s *Step) Charge(lost map[string]Outcome) {
	for _, a := range s.run.InterruptedAgents() {
		s.interrupt(s.edit(a.ID), lost[a.ID])
	}
}

// openSegment begins a segment of the run. It resets the fields that describe the previous segment and
// emits RunStarted.
func (s *Step) openSegment(resumed bool) {
	p, run := &s.delta.Progress, s.run
	p.Status, p.Reason, p.Until, p.Hold, p.Exhausted = Running, "", time.Time{}, "", false
	p.HasProgress, p.Continuing = false, ""
	if run.Progress.Status != Suspended {
		p.Suspensions = 0
	}
	p.Started = stamp(s.now)
	first := slices.IndexFunc(run.Agents, func(a *Agent) bool { return a.Status != Waiting })
	started := &RunStarted{
		Scope: run.Scope, Entry: run.Agents[max(0, first)].State, Resumed: resumed,
		BudgetUSD: s.Options().BudgetUSD, MaxParallel: s.Options().MaxParallel, InheritedUSD: run.InheritedUSD,
	}
	if of := run.RerunOf; of != nil {
		started.RerunOf, started.RerunExec = of.WorkflowID, of.Exec
	}
	s.emit(nil, started)
}

// excludeTime excludes the time idle, which ended at now, from the duration of the execution and its
// attempt. During that time, no process drove the run, or an agent CLI was being installed.
func (e *Exec) excludeTime(idle time.Duration, now time.Time) {
	for _, began := range []*time.Time{&e.Started, &e.AttemptStarted} {
		if !began.IsZero() {
			*began = began.Add(min(idle, max(0, now.Sub(*began))))
		}
	}
}

// interrupt makes an agent ready to repeat its interrupted invocation. It charges the usage in lost and
// emits AttemptInterrupted.
func (d *draft) interrupt(a *Agent, lost Outcome) {
	e := a.Exec
	if e.Interrupted == "" {
		e.Interrupted = "raymond was killed"
	}
	if e.Running != nil && e.Running.Mode != "" {
		lost.Session, lost.Cost.Silent = e.Running.SessionID, lost.Used == nil
		d.charge(a, lost)
	}
	e.undoInvocation()
	a.Status = Ready
	d.emit(a, e.interruption())
}

// interruption returns the event about an interrupted attempt.
func (e *Exec) interruption() *AttemptInterrupted {
	return &AttemptInterrupted{Attempt: e.Attempt, Reason: e.Interrupted, CostUSD: e.AttemptSpent.USD, Estimated: e.AttemptSpent.Estimated}
}

// prepareRetry makes a failed agent ready to try its state again.
func (a *Agent) prepareRetry() {
	a.Status, a.Failure, a.NotBefore, a.Wait = Ready, nil, time.Time{}, 0
	switch e := a.Exec; {
	case e == nil: // the agent failed between two states
	case e.Continue:
		e.Retries = 0
	case e.PassedResults != nil && e.Reminder != "" && e.Session != nil: // only a valid move is missing
		e.Retries, e.Reminders = 0, 0
	default:
		a.Cut, a.Exec = e.EntryLen, nil
	}
	if e := a.Exec; e != nil {
		// The state_finished event of the failed execution has already reported these costs.
		e.Spent, e.Models, e.Tokens = Spent{}, nil, nil
	}
}

// KeepLastConversation makes the run record the conversation with which its main agent ends, so that a
// later run can continue from there. Call it for a run that New returned.
func (r *Run) KeepLastConversation() { r.Last = &LastConversation{} }

// FollowUp makes a run that New returned begin in the state entry, because of a comment. login is the user
// who wrote the comment. The run continues a copy of the conversation in last, in the same directory.
func (r *Run) FollowUp(entry, login string, last LastConversation) {
	r.Entry = entry
	main := r.Agents[0]
	main.addVisits(-1)
	main.enter(entry, string(main.Payload))
	main.By, main.Dir = "person "+login, last.Dir
	main.Session, main.Branch = last.Session, last.Session != nil
}
