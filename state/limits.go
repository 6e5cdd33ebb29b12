package state

import (
	"fmt"
	"slices"
	"time"
)

// overBudget says why nothing may cost any more, or "".
func (s *Step) overBudget() string {
	p, budget := &s.d.Progress, s.Options().BudgetUSD
	switch {
	case p.Exhausted:
		return fmt.Sprintf("an agent reached its share of the budget of $%s (spent %s)", budget, s.spent().Exactly())
	case budget == 0:
		return ""
	case p.TotalUSD > budget:
		return fmt.Sprintf("spent %s of a budget of $%s", s.spent().Exactly(), budget)
	}
	return ""
}

// overIterations reports whether no further state execution may begin.
func (s *Step) overIterations() bool {
	limit := s.Options().MaxIterations
	return limit > 0 && s.d.Progress.Iterations >= limit
}

// failing reports whether an agent's failure keeps new states from starting.
func (s *Step) failing() bool {
	return !s.Options().KeepGoing && s.stuck() > 0
}

func (s *Step) stuck() int {
	return s.agentsWith(func(a *Agent) bool { return a.Status == Stuck })
}

// living counts the agents that have not ended.
func (s *Step) living() int {
	return s.agentsWith(func(*Agent) bool { return true })
}

func (s *Step) agentsWith(quality func(*Agent) bool) int {
	n := 0
	s.each(func(a *Agent) bool {
		if quality(a) {
			n++
		}
		return true
	})
	return n
}

// blocked reports whether nothing at all may start: not even a reminder, a retry
// or a further attempt.
func (s *Step) blocked() bool {
	return s.d.Progress.Hold != "" || s.overBudget() != ""
}

// Next returns the agent that takes the next free slot at the time of the step:
// an execution under way goes on before one that waited for a retry, that before
// a new one begins, and new ones begin round-robin in order of creation. When
// nothing may start, verdicts are still worked out. busy is the number of slots
// taken.
func (s *Step) Next(busy int) (*Agent, bool) {
	if busy >= s.Options().MaxParallel {
		return nil, false
	}
	if s.blocked() {
		return s.unjudged()
	}
	q := queue{fresh: !s.failing() && !s.overIterations(), turn: s.d.Progress.Turn}
	s.each(func(a *Agent) bool {
		if a.Status == Ready && !a.NotBefore.After(s.now) {
			q.offer(a)
		}
		return q.going == nil
	})
	for _, a := range []*Agent{q.going, q.waited, q.after, q.first} {
		if a != nil {
			return a, true
		}
	}
	return nil, false
}

// queue is who may take a free slot, in order of precedence.
type queue struct {
	fresh bool // new executions may begin
	turn  int  // number of the agent that began one last

	going, waited, after, first *Agent
}

// offer puts an agent that could go on into the queue. Agents come in order of
// creation.
func (q *queue) offer(a *Agent) {
	place := &q.first
	switch {
	case a.Exec != nil && a.NotBefore.IsZero():
		place = &q.going
	case a.Exec != nil:
		place = &q.waited
	case !q.fresh:
		return
	case a.N > q.turn:
		place = &q.after
	}
	if *place == nil {
		*place = a
	}
}

// unjudged returns an agent whose attempt waits for its verdict. That is part of
// what was begun, and costs nothing.
func (s *Step) unjudged() (*Agent, bool) {
	var found *Agent
	s.each(func(a *Agent) bool {
		if a.Status == Ready && a.Exec != nil && a.Exec.Phase == PhaseVerify {
			found = a
		}
		return found == nil
	})
	return found, found != nil
}

// Wake returns when the next waiting agent may go on; zero when none waits that
// could.
func (s *Step) Wake() time.Time {
	var wake time.Time
	if s.blocked() {
		return wake
	}
	s.each(func(a *Agent) bool {
		waits := a.Status == Ready && a.NotBefore.After(s.now)
		if waits && (wake.IsZero() || a.NotBefore.Before(wake)) {
			wake = a.NotBefore
		}
		return true
	})
	return wake
}

// Stop is a decision from outside that ends the run early.
type Stop struct {
	Status Status // Cancelled or Suspended
	Reason string
	Until  time.Time
	// Deadline is the time that the run had, when that is what ended it.
	Deadline time.Duration
}

// Unless has Close fail a run that would be suspended, when the function says why
// nobody could go on with it. It is given the agents that are left.
func (s *Step) Unless(forsaken func([]*Agent) string) { s.forsaken = forsaken }

func (s *Step) agentsLeft() []*Agent {
	var list []*Agent
	s.each(func(a *Agent) bool {
		list = append(list, a)
		return true
	})
	return list
}

// Close ends the run, or this part of it, when nothing is under way and nothing
// can start. stop may be nil.
func (s *Step) Close(stop *Stop) {
	p := &s.d.Progress
	p.Status, p.Reason = s.rest(stop)
	if p.Status == Suspended && s.forsaken != nil {
		if why := s.forsaken(s.agentsLeft()); why != "" {
			p.Status, p.Reason = Failed, "it would be suspended ("+p.Reason+"), and nobody could go on with it: "+why
		}
	}
	switch {
	case p.Status != Suspended:
		p.Until = time.Time{}
	case p.Hold == "":
		p.Until = stop.Until
	}
	p.Hold = ""
	s.warnLimits()
	outcome, detail := s.outcome()
	spent := s.spent()
	done := &RunFinished{
		Status: p.Status, Outcome: outcome, Detail: detail, Reason: p.Reason,
		CostUSD: p.TotalUSD, Estimated: spent.Estimated, Unknown: spent.Unknown, Unfinished: s.unfinished(),
		Iterations: p.Iterations, FlakeRetries: p.Flakes, DurationMS: max(0, s.now.Sub(p.Started).Milliseconds()),
	}
	if text, ok := s.result0(); ok {
		done.Result = &text
	}
	s.emit(nil, done)
}

// rest names the status of a run in which nothing is left to start.
func (s *Step) rest(stop *Stop) (Status, string) {
	left, stuck := 0, s.stuck()
	s.each(func(*Agent) bool { left++; return true })
	budget := s.overBudget()
	switch {
	case left == 0:
		return Completed, ""
	case stop != nil && stop.Status == Cancelled:
		return Cancelled, stop.Reason
	case budget != "":
		return OverBudget, budget
	case s.overIterations() && stuck < left:
		return OverIterations, fmt.Sprintf("%s begun, the limit is %d",
			Count(s.d.Progress.Iterations, "state execution"), s.Options().MaxIterations)
	case s.d.Progress.Hold != "":
		return Suspended, s.d.Progress.Hold
	case stop != nil && stuck < left:
		return stop.Status, stop.Reason
	}
	return Failed, s.firstFault()
}

func (s *Step) firstFault() string {
	text := ""
	s.each(func(a *Agent) bool {
		if a.Fault != nil {
			text = fmt.Sprintf("agent %s in state %s: %s", a.ID, a.State, a.Fault.Message)
		}
		return text == ""
	})
	return text
}

// ReachDeadline tells that the time of this part of the run is up.
func (s *Step) ReachDeadline(most time.Duration) {
	s.emit(nil, &Limit{Which: "deadline", Value: s.now.Sub(s.d.Progress.Started).Seconds(), Max: most.Seconds()})
}

// warnLimits tells which limit ended the run, or was passed by its last state.
func (s *Step) warnLimits() {
	p, opt := &s.d.Progress, s.Options()
	// A state that cost much told it when it was booked, which may be in this step.
	told := slices.ContainsFunc(s.d.Events, func(e Event) bool {
		b, ok := e.Body.(*Limit)
		return ok && b.Which == "budget"
	})
	if s.overBudget() != "" && !told {
		s.emit(nil, s.budget())
	}
	if p.Status == OverIterations {
		s.emit(nil, &Limit{Which: "iterations", Value: float64(p.Iterations), Max: float64(opt.MaxIterations)})
	}
}

// outcome names the end of the run for people: convergence.md, "Counters,
// events, outcome".
func (s *Step) outcome() (outcome, detail string) {
	switch p := &s.d.Progress; p.Status {
	case Completed:
		if p.Flakes > 0 {
			return "clean_with_flake", ""
		}
		return "clean", ""
	case Failed:
		if len(s.run.Ended)+len(s.d.Ended) > 0 {
			return "failed", "partial"
		}
		return "failed", "catastrophic"
	default:
		return string(p.Status), ""
	}
}

// result0 is the result of the first agent.
func (s *Step) result0() (Text, bool) {
	for _, e := range s.d.Ended {
		if e.Agent == mainAgent {
			return e.Result, true
		}
	}
	return s.run.Result()
}

// Cap returns the budget of one invocation: what is left, shared by the agents
// that run, at least a cent; 0 without a budget.
func (s *Step) Cap() USD {
	budget := s.Options().BudgetUSD
	if budget == 0 {
		return 0
	}
	running := 0
	s.each(func(a *Agent) bool {
		if a.Status == Busy {
			running++
		}
		return true
	})
	return max(Dollar/100, (budget-s.d.Progress.TotalUSD)/USD(max(1, running)))
}
