package state

import (
	"iter"
	"time"
)

// Step is a change under construction. Its methods decide; they never change
// the Run it was made from. Several decisions may be taken on one Step, each
// seeing the ones before; they are saved together or not at all.
//
// What the step changes is collected by its draft.
type Step struct{ *draft }

// Step begins a change of r at the given time.
func (r *Run) Step(now time.Time) *Step { return &Step{newDraft(r, now)} }

// Delta returns the finished change. The Step must not be used afterwards.
func (s *Step) Delta() *Delta { return s.finish() }

// Override replaces the options of the run by what the flags of a resume say,
// and the hashes of its files by those of the workflow as it is now.
func (s *Step) Override(o Options, files map[string]string) {
	d := &s.delta
	d.Options, d.Files = &o, files
	if o.BudgetUSD != s.run.Options.BudgetUSD {
		d.Progress.Warned = false
	}
}

// InvocationBudget returns the budget of one invocation: what is left, shared by the
// agents that run, at least a cent; 0 without a budget.
func (s *Step) InvocationBudget() USD {
	if !s.Options().HasBudget() {
		return 0
	}
	running := count(s.Agents(), func(a *Agent) bool { return a.Status == Busy })
	return max(Dollar/100, s.Options().Left(s.delta.Progress.TotalUSD)/USD(max(1, running)))
}

// ReachDeadline adds the event for a deadline that is reached. most is the time that this
// part of the run had.
func (s *Step) ReachDeadline(most time.Duration) {
	began := s.delta.Progress.Started
	s.tell(nil, &Limit{Which: "deadline", Value: s.now.Sub(began).Seconds(), Max: most.Seconds()})
}

// count returns for how many of the agents is reports true.
func count(agents iter.Seq[*Agent], is func(*Agent) bool) int {
	n := 0
	for a := range agents {
		if is(a) {
			n++
		}
	}
	return n
}

func isStuck(a *Agent) bool { return a.Status == Stuck }

func isWaiting(a *Agent) bool { return a.Status == Waiting }

// isUnderWay reports whether an agent has something to do: Busy is one that was cut off.
func isUnderWay(a *Agent) bool { return a.Status == Ready || a.Status == Busy }

func isAny(*Agent) bool { return true }
