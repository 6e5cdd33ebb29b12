package state

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// Step is a change of a run that is being prepared. Its methods make decisions; they never change the
// Run from which the Step was created. A Step may contain several decisions. Each decision sees the
// results of the decisions before it. All of them are saved together or not at all.
type Step struct {
	run         *Run
	now         time.Time
	delta       Delta
	copies      map[string]*Agent // copies of the agents that the step changes, and new agents
	added       []*Agent          // new agents, in order of creation
	isExclusive func(*Agent) bool // set by SetExclusive
	part        []string          // ids of the part's agents, if the step is restricted to a part; nil for the whole run
}

// Step begins a change of r at the given time.
func (r *Run) Step(now time.Time) *Step {
	return &Step{run: r, now: now, delta: Delta{Progress: r.Progress}, copies: map[string]*Agent{}}
}

// Delta returns the finished change and gives it the next step number. The Step must not be used
// afterwards.
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

// Options returns the current options. The caller must not change them.
func (s *Step) Options() *Options {
	if s.delta.Options != nil {
		return s.delta.Options
	}
	return &s.run.Options
}

// Agent returns the agent as this step has left it so far. It returns false if the agent does not
// exist or has ended. The caller must not change the agent.
func (s *Step) Agent(id string) (*Agent, bool) {
	if a, ok := s.copies[id]; ok {
		return a, a.Status != removed
	}
	return s.run.Agent(id)
}

// Agents returns the agents as this step has left them so far, in order of creation. The caller must
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

// edit returns the step's own copy of the agent, which the step may change. It panics if the
// agent does not exist.
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

// add adds a new agent to the run and gives it the next number.
func (s *Step) add(a *Agent) {
	s.delta.Progress.Created++
	a.N = s.delta.Progress.Created
	s.copies[a.ID] = a
	s.added = append(s.added, a)
}

// emit adds an event about an agent, or about the whole run if a is nil.
func (s *Step) emit(a *Agent, body Body) { s.record(about(a, body)) }

// about returns an event about an agent, or about the whole run if a is nil. The event has no number
// and no time yet.
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

// record gives an event the next number and the time of the step, and adds the event to the step.
func (s *Step) record(e Event) {
	s.delta.Progress.Events++
	e.Seq, e.Time = s.delta.Progress.Events, stamp(s.now)
	s.delta.Events = append(s.delta.Events, e)
}

// stamp converts a time to UTC with milliseconds, the form in which the files of a run store times.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// ledger returns the run's ledger, including the entries that this step has added.
func (s *Step) ledger() ledger {
	return ledger{total: s.delta.Progress.TotalUSD, saved: s.run.Ledger, added: s.delta.Ledger}
}

// limits returns the limits of the run and its current usage.
func (s *Step) limits() limits {
	return limits{options: s.Options(), progress: &s.delta.Progress, ledger: s.ledger(), inherited: s.run.RerunOf.inheritedExecutions()}
}

// result returns the result of the main agent. It returns false if the main agent has not ended.
func (s *Step) result() (Text, bool) {
	for _, e := range s.delta.Ended {
		if e.Agent == mainAgent {
			return e.Result, true
		}
	}
	return s.run.Result()
}

// isTaken reports whether an agent with this name exists, or is known to have existed.
func (s *Step) isTaken(id string) bool {
	_, isMine := s.copies[id]
	_, isKnown := s.run.Agent(id)
	has := func(e Ending) bool { return e.Agent == id }
	return isMine || isKnown || slices.ContainsFunc(s.run.Ended, has) || slices.ContainsFunc(s.delta.Ended, has)
}

// Override replaces the run's options and the hashes of the workflow's files. It is for a resume with
// other flags or changed files.
func (s *Step) Override(o Options, files map[string]string) {
	d := &s.delta
	d.Options, d.Files = &o, files
	if o.BudgetUSD != s.run.Options.BudgetUSD {
		d.Progress.Warned = false
	}
}

// InvocationBudget returns the budget for one invocation: the rest of the run's budget divided by the
// number of running agents, but at least a cent. It returns 0 if the run has no budget.
func (s *Step) InvocationBudget() USD {
	if !s.Options().HasBudget() {
		return 0
	}
	running := count(s.Agents(), func(a *Agent) bool { return a.Status == Busy })
	return max(Dollar/100, s.Options().Remaining(s.delta.Progress.TotalUSD)/USD(max(1, running)))
}

// RecordDeadline adds an event that reports that the deadline has been reached. limit is the time limit
// of the current segment of the run.
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

// isUnderWay reports whether an agent can run or is running. A Busy agent of a saved run was
// interrupted.
func isUnderWay(a *Agent) bool { return a.Status == Ready || a.Status == Busy }

func isAny(*Agent) bool { return true }
