package state

import (
	"maps"
	"slices"
	"time"
)

// Delta is one committed step: what the journal holds, and what leads from one
// Run to the next.
type Delta struct {
	Progress Progress `json:"progress"`
	Options  *Options `json:"options,omitempty"` // when a resume changed them
	// Files replaces the hashes when a resume found changed files.
	Files  map[string]string `json:"files,omitempty"`
	Agents []*Agent          `json:"agents,omitempty"` // new and changed ones, in order of creation
	Gone   []string          `json:"gone,omitempty"`   // agents that ended
	Ended  []Ending          `json:"ended,omitempty"`
	Ledger []Entry           `json:"ledger,omitempty"`
	Used   []string          `json:"used,omitempty"`
	Events []Event           `json:"events,omitempty"`
}

// Step is a change under construction. Its methods decide; they never change
// the Run it was made from. Several decisions may be taken on one Step, each
// seeing the ones before; they are saved together or not at all.
type Step struct {
	run    *Run
	now    time.Time
	d      Delta
	agents map[string]*Agent // copies of the agents this step touches
	added  []*Agent

	forsaken func([]*Agent) string // as Unless says; nil for none
}

// Step begins a change of r at the given time.
func (r *Run) Step(now time.Time) *Step {
	s := &Step{run: r, now: now, agents: map[string]*Agent{}}
	s.d.Progress = r.Progress
	return s
}

// Delta returns the finished change. The Step must not be used afterwards.
func (s *Step) Delta() *Delta {
	s.d.Progress.Seq++
	for _, a := range s.sorted() {
		if a.Status == removed {
			s.d.Gone = append(s.d.Gone, a.ID)
			continue
		}
		s.d.Agents = append(s.d.Agents, a)
	}
	return &s.d
}

// sorted returns the agents this step touched, in order of creation.
func (s *Step) sorted() []*Agent {
	return slices.SortedFunc(maps.Values(s.agents), func(a, b *Agent) int { return a.N - b.N })
}

// Apply makes d part of r. It must have been saved first.
func (r *Run) Apply(d *Delta) {
	r.index()
	r.Progress = d.Progress
	if d.Options != nil {
		r.Options = *d.Options
	}
	if d.Files != nil {
		r.Files = d.Files
	}
	for _, a := range d.Agents {
		r.put(a)
	}
	for _, id := range d.Gone {
		r.drop(id)
	}
	r.Ended = append(r.Ended, d.Ended...)
	r.Ledger = append(r.Ledger, d.Ledger...)
	r.Used = append(r.Used, d.Used...)
	r.Events = d.Events
	r.fold()
}

// With returns the run that Apply(d) would make, leaving r as it is. The two
// share the agents that d does not touch, which nobody may change.
func (r *Run) With(d *Delta) *Run {
	next := *r
	next.byID = nil
	next.Agents = slices.Clone(r.Agents)
	next.Ended = slices.Clip(r.Ended)
	next.Ledger = slices.Clip(r.Ledger)
	next.Used = slices.Clip(r.Used)
	next.Apply(d)
	return &next
}

func (r *Run) index() {
	if r.byID != nil {
		return
	}
	r.byID = make(map[string]*Agent, len(r.Agents))
	for _, a := range r.Agents {
		r.byID[a.ID] = a
	}
}

func (r *Run) put(a *Agent) {
	_, known := r.byID[a.ID]
	r.byID[a.ID] = a
	if !known {
		r.Agents = append(r.Agents, a)
		return
	}
	r.Agents[r.position(a.N)] = a
}

func (r *Run) drop(id string) {
	a, known := r.byID[id]
	if !known {
		return
	}
	delete(r.byID, id)
	at := r.position(a.N)
	r.Agents = slices.Delete(r.Agents, at, at+1)
}

// position returns where the agent with creation number n stands.
func (r *Run) position(n int) int {
	at, _ := slices.BinarySearchFunc(r.Agents, n, func(a *Agent, n int) int { return a.N - n })
	return at
}

// Agent returns the agent with the given id. It must not be changed.
func (r *Run) Agent(id string) (*Agent, bool) {
	r.index()
	a, ok := r.byID[id]
	return a, ok
}

// Result returns the result of the first agent, and false while it has none.
func (r *Run) Result() (Text, bool) {
	for _, e := range r.Ended {
		if e.Agent == mainAgent {
			return e.Result, true
		}
	}
	return "", false
}

// Agent returns the agent as this step has it. It must not be changed.
func (s *Step) Agent(id string) (*Agent, bool) {
	if a, ok := s.agents[id]; ok {
		return a, a.Status != removed
	}
	return s.run.Agent(id)
}

// edit returns a copy of the agent that this step may change.
func (s *Step) edit(id string) *Agent {
	if a, ok := s.agents[id]; ok {
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
		e.Denied = slices.Clone(from.Exec.Denied)
		e.Refusals = slices.Clone(from.Exec.Refusals)
		a.Exec = &e
	}
	s.agents[id] = &a
	return &a
}

// each calls f for every agent as this step has it, in order of creation, until
// f returns false.
func (s *Step) each(f func(*Agent) bool) {
	for _, a := range s.run.Agents {
		if mine, ok := s.agents[a.ID]; ok {
			a = mine
		}
		if a.Status != removed && !f(a) {
			return
		}
	}
	for _, a := range s.added {
		if a.Status != removed && !f(a) {
			return
		}
	}
}

// add makes a new agent part of the run.
func (s *Step) add(a *Agent) {
	s.d.Progress.Created++
	a.N = s.d.Progress.Created
	s.agents[a.ID] = a
	s.added = append(s.added, a)
}

// emit adds an event to this step. a may be nil.
func (s *Step) emit(a *Agent, body Body) {
	s.d.Progress.Events++
	e := Event{Seq: s.d.Progress.Events, Time: s.now.UTC().Truncate(time.Millisecond), Body: body}
	if a != nil {
		e.Agent, e.State = a.ID, a.State
	}
	s.d.Events = append(s.d.Events, e)
}

// Say returns an event about an agent that is not part of any step: it may be
// lost in a crash, but its number is never used again.
func (r *Run) Say(now time.Time, agent, state string, body Body) Event {
	r.Progress.Events++
	return Event{Seq: r.Progress.Events, Time: now.UTC().Truncate(time.Millisecond), Agent: agent, State: state, Body: body}
}

// taken reports whether an agent of this name exists or existed.
func (s *Step) taken(id string) bool {
	if _, ok := s.agents[id]; ok {
		return true
	}
	if _, ok := s.run.Agent(id); ok {
		return true
	}
	has := func(e Ending) bool { return e.Agent == id }
	return slices.ContainsFunc(s.run.Ended, has) || slices.ContainsFunc(s.d.Ended, has)
}
