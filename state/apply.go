package state

import (
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
	// Delivered are agents that have ended, and that a join has delivered.
	Delivered []string          `json:"delivered,omitempty"`
	Ended     []Ending          `json:"ended,omitempty"`
	Ledger    []LedgerEntry     `json:"ledger,omitempty"`
	Used      []string          `json:"used,omitempty"`
	Events    []Event           `json:"events,omitempty"`
	Parts     *[]Part           `json:"parts,omitempty"` // when the step handed agents over
	Last      *LastConversation `json:"last,omitempty"`  // when main has ended
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
		if a, known := r.byID[id]; known {
			delete(r.byID, id)
			at := r.position(a.N)
			r.Agents = slices.Delete(r.Agents, at, at+1)
		}
	}
	r.Ended = markDelivered(append(r.Ended, d.Ended...), d.Delivered)
	r.Ledger = append(r.Ledger, d.Ledger...)
	r.Used = append(r.Used, d.Used...)
	r.Events = d.Events
	if d.Parts != nil {
		r.Parts = *d.Parts
	}
	if d.Last != nil {
		r.Last = d.Last
	}
	r.fold()
}

// markDelivered returns the endings with those marked of agents that a join has delivered.
func markDelivered(ended []Ending, agents []string) []Ending {
	if len(agents) == 0 {
		return ended
	}
	marked := make(map[string]bool, len(agents))
	for _, id := range agents {
		marked[id] = true
	}
	ended = slices.Clone(ended)
	for i := range ended {
		ended[i].Delivered = ended[i].Delivered || marked[ended[i].Agent]
	}
	return ended
}

// With returns the run that Apply(d) would make, leaving r as it is. The two
// share the agents that d does not touch, which nobody may change.
func (r *Run) With(d *Delta) *Run {
	next := r.copied()
	next.Apply(d)
	return next
}

// copied returns a copy whose lists may be added to, and have other agents put in. The agents are shared.
func (r *Run) copied() *Run {
	c := *r
	c.byID = nil
	c.Agents, c.Ended, c.Ledger, c.Used = slices.Clone(r.Agents), slices.Clip(r.Ended), slices.Clip(r.Ledger), slices.Clip(r.Used)
	return &c
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

// put adds an agent, or replaces the one of its id.
func (r *Run) put(a *Agent) {
	_, known := r.byID[a.ID]
	r.byID[a.ID] = a
	if !known {
		r.Agents = append(r.Agents, a)
		return
	}
	r.Agents[r.position(a.N)] = a
}

// position returns the index of the agent with creation number n.
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

// UnsavedEvent returns an event that is not part of any step, about an agent as it is now or,
// if that is nil, about the run. It may be lost in a crash, but its number is never used again.
func (r *Run) UnsavedEvent(now time.Time, a *Agent, body Body) Event {
	r.Progress.Events++
	e := about(a, body)
	e.Seq, e.Time = r.Progress.Events, stamp(now)
	return e
}
