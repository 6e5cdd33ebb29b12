package state

import (
	"iter"
	"time"
)

// Step is a change under construction. Its methods decide; they never change
// the Run it was made from. Several decisions may be taken on one Step, each
// seeing the ones before; they are saved together or not at all.
//
// Each decision is made by a small type that is given values: limits says what may
// still be spent, ledger what it costs, schedule which agent is next, execution how
// one agent continues, ending how the run ends. Step brings their answers into the
// draft.
type Step struct {
	draft   *draft
	members members
}

// Step begins a change of r at the given time.
func (r *Run) Step(now time.Time) *Step {
	d := newDraft(r, now)
	return &Step{draft: d, members: members{draft: d}}
}

// Delta returns the finished change. The Step must not be used afterwards.
func (s *Step) Delta() *Delta { return s.draft.finish() }

// Agent returns the agent as this step has it. It must not be changed.
func (s *Step) Agent(id string) (*Agent, bool) { return s.draft.agent(id) }

// Agents returns the agents as this step has them, in order of creation. They must
// not be changed.
func (s *Step) Agents() iter.Seq[*Agent] { return s.draft.agents() }

// Options returns the options in force. They must not be changed.
func (s *Step) Options() *Options { return s.draft.options() }

// Override replaces the options of the run by what the flags of a resume say,
// and the hashes of its files by those of the workflow as it is now.
func (s *Step) Override(o Options, files map[string]string) {
	d := &s.draft.delta
	d.Options, d.Files = &o, files
	if o.BudgetUSD != s.draft.run.Options.BudgetUSD {
		d.Progress.Warned = false
	}
}

// Next returns the agent that takes the next free slot at the time of the step, and
// false when there is none. First come executions under way, then those that waited for
// a retry, then new ones, round-robin in order of creation. When nothing may start,
// done_when commands are still run. busy is the number of slots that are taken.
func (s *Step) Next(busy int) (*Agent, bool) {
	if busy >= s.Options().MaxParallel {
		return nil, false
	}
	return s.schedule().next()
}

// WakeTime returns when the next waiting agent may continue; the zero time when there
// is no such agent.
func (s *Step) WakeTime() time.Time { return s.schedule().wakeTime() }

func (s *Step) schedule() schedule {
	limits, failed := s.draft.limits(), count(s.members.all(), isStuck) > 0
	return schedule{
		agents: s.members.all(), now: s.draft.now, lastBegun: s.draft.delta.Progress.LastBegun,
		blocked:  limits.blocked(),
		mayBegin: !limits.overIterations() && (!failed || s.Options().KeepGoing),
	}
}

// InvocationBudget returns the budget of one invocation: what is left, shared by the
// agents that run, at least a cent; 0 without a budget.
func (s *Step) InvocationBudget() USD {
	if !s.Options().HasBudget() {
		return 0
	}
	running := count(s.draft.agents(), func(a *Agent) bool { return a.Status == Busy })
	return max(Dollar/100, s.Options().Left(s.draft.delta.Progress.TotalUSD)/USD(max(1, running)))
}

// ReachDeadline adds the event for a deadline that is reached. most is the time that this
// part of the run had.
func (s *Step) ReachDeadline(most time.Duration) {
	began := s.draft.delta.Progress.Started
	s.draft.tell(nil, &Limit{Which: "deadline", Value: s.draft.now.Sub(began).Seconds(), Max: most.Seconds()})
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
