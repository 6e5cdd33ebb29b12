package state

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// Step is a change under construction. Its methods decide; they never change
// the Run it was made from. Several decisions may be taken on one Step, each
// seeing the ones before; they are saved together or not at all.
type Step struct {
	run   *Run
	now   time.Time
	delta Delta
	mine  map[string]*Agent // copies of the agents that the step changes, and new agents
	added []*Agent          // the new agents, in order of creation
	alone func(*Agent) bool // set by Separate
	part  []string          // the agents that were handed over to the part that the step is about; nil for the whole run
}

// Step begins a change of r at the given time.
func (r *Run) Step(now time.Time) *Step {
	return &Step{run: r, now: now, delta: Delta{Progress: r.Progress}, mine: map[string]*Agent{}}
}

// Delta returns the finished change. The Step must not be used afterwards.
func (s *Step) Delta() *Delta {
	s.delta.Progress.Seq++
	byAge := func(a, b *Agent) int { return a.N - b.N }
	for _, a := range slices.SortedFunc(maps.Values(s.mine), byAge) {
		if a.Status == removed {
			s.delta.Gone = append(s.delta.Gone, a.ID)
			continue
		}
		s.delta.Agents = append(s.delta.Agents, a)
	}
	return &s.delta
}

// Options returns the options in force. They must not be changed.
func (s *Step) Options() *Options {
	if s.delta.Options != nil {
		return s.delta.Options
	}
	return &s.run.Options
}

// Agent returns the agent as this step has it. It must not be changed.
func (s *Step) Agent(id string) (*Agent, bool) {
	if a, ok := s.mine[id]; ok {
		return a, a.Status != removed
	}
	return s.run.Agent(id)
}

// Agents returns the agents as this step has them, in order of creation. They must
// not be changed.
func (s *Step) Agents() iter.Seq[*Agent] {
	return func(yield func(*Agent) bool) {
		for _, a := range s.run.Agents {
			if mine, ok := s.mine[a.ID]; ok {
				a = mine
			}
			if a.Status != removed && !yield(a) {
				return
			}
		}
		for _, a := range s.added {
			if a.Status != removed && !yield(a) {
				return
			}
		}
	}
}

// edit returns a copy of the agent that this step may change.
func (s *Step) edit(id string) *Agent {
	if a, ok := s.mine[id]; ok {
		return a
	}
	from, ok := s.run.Agent(id)
	if !ok {
		panic("internal error: no agent " + id)
	}
	a := *from
	a.Stack = slices.Clone(from.Stack)
	if from.Exec != nil {
		e := *from.Exec
		e.Refusals = slices.Clone(from.Exec.Refusals)
		a.Exec = &e
	}
	s.mine[id] = &a
	return &a
}

// add makes a new agent part of the run.
func (s *Step) add(a *Agent) {
	s.delta.Progress.Created++
	a.N = s.delta.Progress.Created
	s.mine[a.ID] = a
	s.added = append(s.added, a)
}

// tell adds an event about an agent, or about the whole run when a is nil.
func (s *Step) tell(a *Agent, body Body) { s.record(about(a, body)) }

// about returns an event that has no number and no time yet.
func about(a *Agent, body Body) Event {
	if a == nil {
		return Event{Body: body}
	}
	e := Event{Agent: a.ID, State: a.State, Body: body}
	if a.Exec != nil {
		e.Exec = a.Exec.Iteration
	}
	return e
}

// record adds an event under the next number.
func (s *Step) record(e Event) {
	s.delta.Progress.Events++
	e.Seq, e.Time = s.delta.Progress.Events, stamp(s.now)
	s.delta.Events = append(s.delta.Events, e)
}

// stamp returns a time as it is written into the files of a run.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// ledger returns the ledger with the entries of this step.
func (s *Step) ledger() ledger {
	return ledger{total: s.delta.Progress.TotalUSD, saved: s.run.Ledger, added: s.delta.Ledger}
}

// limits returns what the run may use and what it has used so far.
func (s *Step) limits() limits {
	return limits{options: s.Options(), progress: &s.delta.Progress, ledger: s.ledger(), inherited: s.run.RerunOf.before()}
}

// result is the result of the first agent.
func (s *Step) result() (Text, bool) {
	for _, e := range s.delta.Ended {
		if e.Agent == mainAgent {
			return e.Result, true
		}
	}
	return s.run.Result()
}

// isTaken reports whether an agent of this name exists, or is known to have existed.
func (s *Step) isTaken(id string) bool {
	_, isMine := s.mine[id]
	_, isKnown := s.run.Agent(id)
	has := func(e Ending) bool { return e.Agent == id }
	return isMine || isKnown || slices.ContainsFunc(s.run.Ended, has) || slices.ContainsFunc(s.delta.Ended, has)
}

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
	return max(Dollar/100, s.Options().Remaining(s.delta.Progress.TotalUSD)/USD(max(1, running)))
}

// RecordDeadline adds the event for a deadline that is reached. most is the time that this
// part of the run had.
func (s *Step) RecordDeadline(most time.Duration) {
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
