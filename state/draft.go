package state

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// draft is the working copy of a run in one step. It collects what the step
// changes and leaves the run itself as it is. It decides nothing.
type draft struct {
	run   *Run
	now   time.Time
	delta Delta
	mine  map[string]*Agent // copies of the agents that the step changes, and new agents
	added []*Agent          // the new agents, in order of creation
	part  []string          // the agents that were handed over to the part that the step is about; nil for the whole run
}

func newDraft(r *Run, now time.Time) *draft {
	return &draft{run: r, now: now, delta: Delta{Progress: r.Progress}, mine: map[string]*Agent{}}
}

// finish returns the collected changes. The draft must not be used afterwards.
func (d *draft) finish() *Delta {
	d.delta.Progress.Seq++
	byAge := func(a, b *Agent) int { return a.N - b.N }
	for _, a := range slices.SortedFunc(maps.Values(d.mine), byAge) {
		if a.Status == removed {
			d.delta.Gone = append(d.delta.Gone, a.ID)
			continue
		}
		d.delta.Agents = append(d.delta.Agents, a)
	}
	return &d.delta
}

// Options returns the options in force. They must not be changed.
func (d *draft) Options() *Options {
	if d.delta.Options != nil {
		return d.delta.Options
	}
	return &d.run.Options
}

// Agent returns the agent as this step has it. It must not be changed.
func (d *draft) Agent(id string) (*Agent, bool) {
	if a, ok := d.mine[id]; ok {
		return a, a.Status != removed
	}
	return d.run.Agent(id)
}

// Agents returns the agents as this step has them, in order of creation. They must
// not be changed.
func (d *draft) Agents() iter.Seq[*Agent] {
	return func(yield func(*Agent) bool) {
		for _, a := range d.run.Agents {
			if mine, ok := d.mine[a.ID]; ok {
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

// edit returns a copy of the agent that this step may change.
func (d *draft) edit(id string) *Agent {
	if a, ok := d.mine[id]; ok {
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
		e.Denied = slices.Clone(from.Exec.Denied)
		e.Refusals = slices.Clone(from.Exec.Refusals)
		a.Exec = &e
	}
	d.mine[id] = &a
	return &a
}

// add makes a new agent part of the run.
func (d *draft) add(a *Agent) {
	d.delta.Progress.Created++
	a.N = d.delta.Progress.Created
	d.mine[a.ID] = a
	d.added = append(d.added, a)
}

// tell adds an event about an agent, or about the whole run when a is nil.
func (d *draft) tell(a *Agent, body Body) { d.record(about(a, body)) }

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
func (d *draft) record(e Event) {
	d.delta.Progress.Events++
	e.Seq, e.Time = d.delta.Progress.Events, stamp(d.now)
	d.delta.Events = append(d.delta.Events, e)
}

// stamp returns a time as it is written into the files of a run.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// ledger returns the ledger with the entries of this step.
func (d *draft) ledger() ledger {
	return ledger{total: d.delta.Progress.TotalUSD, saved: d.run.Ledger, added: d.delta.Ledger}
}

// limits returns what the run may use and what it has used so far.
func (d *draft) limits() limits {
	return limits{options: d.Options(), progress: &d.delta.Progress, ledger: d.ledger(), inherited: d.run.RerunOf.before()}
}

// markUsed notes that a state's file has been used, so that a resume can refuse to
// continue with a changed one.
func (d *draft) markUsed(file string) {
	if !slices.Contains(d.run.Used, file) && !slices.Contains(d.delta.Used, file) {
		d.delta.Used = append(d.delta.Used, file)
	}
}

// result is the result of the first agent.
func (d *draft) result() (Text, bool) {
	for _, e := range d.delta.Ended {
		if e.Agent == mainAgent {
			return e.Result, true
		}
	}
	return d.run.Result()
}

// hasResults reports whether some agents have ended with a result.
func (d *draft) hasResults() bool {
	brought := func(e Ending) bool { return e.Error == "" }
	return slices.ContainsFunc(d.run.Ended, brought) || slices.ContainsFunc(d.delta.Ended, brought)
}

// isTaken reports whether an agent of this name exists, or is known to have existed.
func (d *draft) isTaken(id string) bool {
	if _, ok := d.mine[id]; ok {
		return true
	}
	if _, ok := d.run.Agent(id); ok {
		return true
	}
	has := func(e Ending) bool { return e.Agent == id }
	return slices.ContainsFunc(d.run.Ended, has) || slices.ContainsFunc(d.delta.Ended, has)
}
