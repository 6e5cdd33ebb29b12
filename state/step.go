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
	draft
	isExclusive func(*Agent) bool // set by SetExclusive
}

// Step begins a change of r at the given time.
func (r *Run) Step(now time.Time) *Step {
	return &Step{draft: draft{
		recorder: recorder{now: now, delta: Delta{Progress: r.Progress}},
		run:      r, copies: map[string]*Agent{},
	}}
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

// Override replaces the run's options and the hashes of the workflow's files. It is for a resume with
// other flags or changed files.
func (s *Step) Override(o Options, files map[string]string) {
	d := &s.delta
	d.Options, d.Files = &o, files
	if o.BudgetUSD != s.run.Options.BudgetUSD {
		d.Progress.Warned = false
	}
}

// RecordDeadline adds an event that reports that the deadline has been reached. limit is the time limit
// of the current segment of the run.
func (s *Step) RecordDeadline(limit time.Duration) {
	began := s.delta.Progress.Started
	s.emit(nil, &Limit{Which: "deadline", Value: s.now.Sub(began).Seconds(), Max: limit.Seconds()})
}

// draft is a run with the changes of a step so far. It shows the run as the step has left it, and keeps
// the copies of the agents that the step changes.
type draft struct {
	recorder
	run    *Run
	copies map[string]*Agent // copies of the agents that the step changes, and new agents
	added  []*Agent          // new agents, in order of creation
	group  group             // the agents that the step may change
}

// Options returns the current options. The caller must not change them.
func (d *draft) Options() *Options {
	if d.delta.Options != nil {
		return d.delta.Options
	}
	return &d.run.Options
}

// Agent returns the agent as this step has left it so far. It returns false if the agent does not
// exist or has ended. The caller must not change the agent.
func (d *draft) Agent(id string) (*Agent, bool) {
	if a, ok := d.copies[id]; ok {
		return a, a.Status != removed
	}
	return d.run.Agent(id)
}

// Agents returns the agents as this step has left them so far, in order of creation. The caller must
// not change them.
func (d *draft) Agents() iter.Seq[*Agent] {
	return func(yield func(*Agent) bool) {
		for _, a := range d.run.Agents {
			if mine, ok := d.copies[a.ID]; ok {
				a = mine
			}
			if a.Status != removed && !yield(a) {
				return
			}
		}
		for _, a := range d.added {
			if a.Status != removed && !yield(a) {
				return
			}
		}
	}
}

// members returns the agents that the step may change, in order of creation. The caller must not change
// them.
func (d *draft) members() iter.Seq[*Agent] { return filter(d.Agents(), d.group.has) }

// ended returns the results of all ended agents, in order of ending. The caller must not change them.
func (d *draft) ended() iter.Seq[*Ending] { return each(d.run.Ended, d.delta.Ended) }

// ledger returns the run's ledger, including the entries that this step has added.
func (d *draft) ledger() ledger {
	return ledger{total: d.delta.Progress.TotalUSD, entries: each(d.run.Ledger, d.delta.Ledger)}
}

// limits returns the limits of the run and its current usage.
func (d *draft) limits() limits {
	return limits{options: d.Options(), progress: &d.delta.Progress, ledger: d.ledger(), inherited: d.run.RerunOf.inheritedExecutions()}
}

// edit returns the step's own copy of the agent, which the step may change. It panics if the
// agent does not exist.
func (d *draft) edit(id string) *Agent {
	if a, ok := d.copies[id]; ok {
		return a
	}
	from, ok := d.run.Agent(id)
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
	d.copies[id] = &a
	return &a
}

// recorder writes what a step changes in a run, apart from its agents: events, counts and the ledger.
type recorder struct {
	now   time.Time // time of the step
	delta Delta     // its lists of agents are empty until Step.Delta fills them
}

// emit adds an event about an agent, or about the whole run if a is nil.
func (r *recorder) emit(a *Agent, body Body) { r.record(about(a, body)) }

// record gives an event the next number and the time of the step, and adds the event to the step.
func (r *recorder) record(e Event) {
	r.delta.Progress.Events++
	e.Seq, e.Time = r.delta.Progress.Events, stamp(r.now)
	r.delta.Events = append(r.delta.Events, e)
}

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

// stamp converts a time to UTC with milliseconds, the form in which the files of a run store times.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// each returns pointers to the elements of the lists, in order.
func each[T any](lists ...[]T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, list := range lists {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// filter returns the agents for which keep returns true.
func filter(agents iter.Seq[*Agent], keep func(*Agent) bool) iter.Seq[*Agent] {
	return func(yield func(*Agent) bool) {
		for a := range agents {
			if keep(a) && !yield(a) {
				return
			}
		}
	}
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

func isAny(*Agent) bool { return true }
