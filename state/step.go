package state

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// Step is a change of a run that is being prepared. Its methods make decisions; they never change the
// Run from which the Step was created. A Step may contain several decisions. Each one sees the results
// of those before it, and all are saved together or not at all.
type Step struct {
	run         *Run
	now         time.Time
	delta       Delta
	copies      map[string]*Agent // copies of the agents that the step changes, and new agents
	added       []*Agent          // new agents, in order of creation
	isExclusive func(*Agent) bool // set by SetExclusive
	part        []string          // agents of the part to which the step is restricted; nil for the whole run
}

// Step begins a change of r at the given time.
func (r *Run) Step(now time.Time) *Step {
	return &Step{run: r, now: now, delta: Delta{Progress: r.Progress}, copies: map[string]*Agent{}}
}

// Delta returns the finished change. The Step must not be used afterwards.
func (s *Step) Delta() *Delta {
	s.delta.Progress.Seq++
	byAge := func(a, b *Agent) int { return a.N - b.N }
	for _, a := range slices.SortedFunc(maps.Values(s.copies), byAge) {
		if a.Status == removed {
			s.delta.Gone = append(s.delta.Gone, a.ID)
			continue
		}
		s.delta.Agents = append(s.delta.Agents, a)
	}
	return &s.delta
}

// Options returns the present options. The caller must not change them.
func (s *Step) Options() *Options {
	if s.delta.Options != nil {
		return s.delta.Options
	}
	return &s.run.Options
}

// Agent returns the agent in its present form in this step. The caller must not change it.
func (s *Step) Agent(id string) (*Agent, bool) {
	if a, ok := s.copies[id]; ok {
		return a, a.Status != removed
	}
	return s.run.Agent(id)
}

// Agents returns the agents in their present form in this step, in order of creation. The caller must
// not change them.
func (s *Step) Agents() iter.Seq[*Agent] {
	return func(yield func(*Agent) bool) {
		for _, a := range s.run.Agents {
			if mine, ok := s.copies[a.ID]; ok {
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
	if a, ok := s.copies[id]; ok {
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
	s.copies[id] = &a
	return &a
}

// add adds a new agent to the run.
func (s *Step) add(a *Agent) {
	s.delta.Progress.Created++
	a.N = s.delta.Progress.Created
	s.copies[a.ID] = a
	s.added = append(s.added, a)
}

// emit adds an event about an agent, or about the whole run if a is nil.
func (s *Step) emit(a *Agent, body Body) { s.record(about(a, body)) }

// about returns an event without a number and a time.
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

// record adds an event with the next number.
func (s *Step) record(e Event) {
	s.delta.Progress.Events++
	e.Seq, e.Time = s.delta.Progress.Events, stamp(s.now)
	s.delta.Events = append(s.delta.Events, e)
}

// stamp converts a time to UTC with milliseconds, the form in which the files of a run store times.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// ledger returns the ledger with the entries of this step.
func (s *Step) ledger() ledger {
	return ledger{total: s.delta.Progress.TotalUSD, saved: s.run.Ledger, added: s.delta.Ledger}
}

// limits returns the limits and the present use of the run.
func (s *Step) limits() limits {
	return limits{options: s.Options(), progress: &s.delta.Progress, ledger: s.ledger(), inherited: s.run.RerunOf.inheritedExecutions()}
}

// result returns the result of the main agent, and false before the agent has ended.
func (s *Step) result() (Text, bool) {
	for _, e := range s.delta.Ended {
		if e.Agent == mainAgent {
			return e.Result, true
		}
	}
	return s.run.Result()
}

// isTaken reports whether an agent of this name exists or has existed, as far as known.
func (s *Step) isTaken(id string) bool {
	_, isMine := s.copies[id]
	_, isKnown := s.run.Agent(id)
	has := func(e Ending) bool { return e.Agent == id }
	return isMine || isKnown || slices.ContainsFunc(s.run.Ended, has) || slices.ContainsFunc(s.delta.Ended, has)
}

// Override replaces the options of the run, and the hashes of the workflow's files. A resume with other
// flags or changed files calls it.
func (s *Step) Override(o Options, files map[string]string) {
	d := &s.delta
	d.Options, d.Files = &o, files
	if o.BudgetUSD != s.run.Options.BudgetUSD {
		d.Progress.Warned = false
	}
}

// InvocationBudget returns the budget of one invocation: the rest of the budget divided by the number of
// running agents, but at least a cent; 0 without a budget.
func (s *Step) InvocationBudget() USD {
	if !s.Options().HasBudget() {
		return 0
	}
	running := count(s.Agents(), func(a *Agent) bool { return a.Status == Busy })
	return max(Dollar/100, s.Options().Remaining(s.delta.Progress.TotalUSD)/USD(max(1, running)))
}

// RecordDeadline adds the event that the deadline is reached. limit is the time limit of this segment of
// the run.
func (s *Step) RecordDeadline(limit time.Duration) {
	began := s.delta.Progress.Started
	s.emit(nil, &Limit{Which: "deadline", Value: s.now.Sub(began).Seconds(), Max: limit.Seconds()})
}

// count returns the number of agents for which isCounted reports true.
func count(agents iter.Seq[*Agent], isCounted func(*Agent) bool) int {
	n := 0
	for a := range agents {
		if isCounted(a) {
			n++
		}
	}
	return n
}

func isStuck(a *Agent) bool { return a.Status == Stuck }

func isWaiting(a *Agent) bool { return a.Status == Waiting }

// isUnderWay reports whether an agent has something to do. A Busy agent of a saved run was cut off.
func isUnderWay(a *Agent) bool { return a.Status == Ready || a.Status == Busy }

func isAny(*Agent) bool { return true }
