package state

import (
	"slices"
	"time"
)

// DefaultDir is the folder of the state files where nobody names one.
const DefaultDir = ".raymond/state"

// mainAgent is the name of the first agent of a run.
const mainAgent = "main"

// New returns a run with one agent, ready in the run's entry state. In r the caller has
// set everything that the workflow and its options decide.
func New(r Run, input string, now time.Time) *Run {
	r.Schema = Schema
	r.Created = now.UTC().Truncate(time.Millisecond)
	r.Progress = Progress{Status: Running, Started: r.Created, Created: 1}
	main := &Agent{ID: mainAgent, N: 1, By: "start"}
	main.enter(r.Entry, input)
	r.Agents = []*Agent{main}
	return &r
}

// InterruptedAgents returns the agents that have an invocation of the agent CLI under way. For a
// process that is about to resume the run these invocations are lost.
func (r *Run) InterruptedAgents() []*Agent {
	var lost []*Agent
	for _, a := range r.Agents {
		if a.Status == Busy && a.Exec.Running != nil && a.Exec.Running.Mode != "" {
			lost = append(lost, a)
		}
	}
	return lost
}

// Begin begins a run that New or Rerun has made.
func (s *Step) Begin() {
	s.open(false)
	for a := range s.Agents() {
		s.record(Event{Agent: a.ID, State: a.State, Body: a.started()})
		switch {
		case a.Exec != nil && a.Exec.Interrupted != "":
			s.tell(a, a.Exec.interruption())
		case a.Status == Waiting:
			s.bound(a)
			s.tell(a, a.Waits.event())
		case a.Status == Stuck:
			s.tell(a, &AgentFinished{Error: a.Failure.Message})
		}
	}
}

// Resume continues the run after a stop or a crash. Agents that were cut off repeat their
// invocation, failed ones try again, and what kept new states from starting is lifted.
// lost has, by agent, what the invocations of Run.Lost are known to have used, and nothing else: see Outcome.Used.
func (s *Step) Resume(lost map[string]Outcome) {
	idle := time.Duration(0) // for which nobody has driven the run, as far as its last events tell
	if n := len(s.run.Events); n > 0 {
		idle = max(0, s.now.Sub(s.run.Events[n-1].Time))
	}
	s.open(true)
	mayComeLater := func(a *Agent) bool { return a.Status == Waiting && a.Waits.For != ForAgents }
	// Where agents keep going, a suspended run does not try again what has failed while others wait
	// for something that the resume may bring.
	status := s.run.Progress.Status
	tries := !s.Options().KeepGoing || status != Suspended && status != Running || count(s.members(), mayComeLater) == 0
	for a := range s.members() {
		if a.Exec != nil && idle > 0 {
			s.edit(a.ID).Exec.leaveOut(idle, s.now)
		}
		switch {
		case a.Status == Busy:
			s.interrupt(s.edit(a.ID), lost[a.ID])
		case a.Status == Waiting:
			s.bound(a)
		case a.Status == Stuck && tries:
			s.edit(a.ID).tryAgain()
		case a.Status == Ready && a.NotBefore.After(s.now.Add(time.Duration(a.Wait))):
			s.edit(a.ID).pause(s.now, time.Duration(a.Wait))
		}
		if a.UnknownCosts > 0 || a.Outage != nil {
			mine := s.edit(a.ID) // both are of one process
			mine.UnknownCosts, mine.Outage = 0, nil
		}
	}
}

// Charge books what the invocations of Run.Lost are known to have used, by agent, without continuing
// the run: their agents repeat them when it is resumed.
func (s *Step) Charge(lost map[string]Outcome) {
	for _, a := range s.run.InterruptedAgents() {
		s.interrupt(s.edit(a.ID), lost[a.ID])
	}
}

func (s *Step) open(resumed bool) {
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
	s.tell(nil, started)
}

// leaveOut leaves a time in which nobody drove the run, or an agent CLI was installed, out
// of the time of the execution and of its attempt.
func (e *Exec) leaveOut(idle time.Duration, now time.Time) {
	for _, began := range []*time.Time{&e.Started, &e.AttemptStarted} {
		if !began.IsZero() {
			*began = began.Add(min(idle, max(0, now.Sub(*began))))
		}
	}
}

// interrupt makes an agent that was cut off ready to repeat its invocation.
func (s *Step) interrupt(a *Agent, lost Outcome) {
	e := a.Exec
	if e.Interrupted == "" {
		e.Interrupted = "raymond was killed"
	}
	if e.Running != nil && e.Running.Mode != "" {
		lost.Session, lost.Cost.Silent = e.Running.SessionID, lost.Used == nil
		s.charge(a, lost)
	}
	e.undoInvocation()
	a.Status = Ready
	s.tell(a, e.interruption())
}

// interruption tells that the attempt under way was cut off.
func (e *Exec) interruption() *AttemptInterrupted {
	return &AttemptInterrupted{Attempt: e.Attempt, Reason: e.Interrupted, CostUSD: e.AttemptSpent.USD, Estimated: e.AttemptSpent.Estimated}
}

// tryAgain lets a failed agent try its state again, as a new execution.
func (a *Agent) tryAgain() {
	a.Status, a.Failure, a.NotBefore, a.Wait = Ready, nil, time.Time{}, 0
	switch e := a.Exec; {
	case e == nil: // it failed between two states
	case e.Continue:
		e.Retries = 0
	case e.PassedResults != nil && e.Reminder != "" && e.Session != nil: // only a move is missing
		e.Retries, e.Reminders = 0, 0
	default:
		a.Cut, a.Exec = e.EntryLen, nil
	}
	if e := a.Exec; e != nil {
		e.Spent, e.Models, e.Tokens = Spent{}, nil, nil // told when it failed
	}
}
