package state

import (
	"fmt"
	"slices"
	"time"
)

// Delta is one step of a run. It contains the fields that the step changes. The journal stores Deltas,
// and Run.Apply turns the Run before a step into the Run after it.
type Delta struct {
	Progress Progress `json:"progress"`
	Options  *Options `json:"options,omitempty"` // set when a resume changed them
	// Files replaces the hashes of the workflow's files. It is set when a resume found changed files.
	Files  map[string]string `json:"files,omitempty"`
	Agents []*Agent          `json:"agents,omitempty"` // new and changed agents, in order of creation
	Gone   []string          `json:"gone,omitempty"`   // ids of the agents that ended
	// Delivered lists the agents whose results a join delivered in this step.
	Delivered []string          `json:"delivered,omitempty"`
	Ended     []Ending          `json:"ended,omitempty"`
	Ledger    []LedgerEntry     `json:"ledger,omitempty"`
	Used      []string          `json:"used,omitempty"`
	Events    []Event           `json:"events,omitempty"`
	Parts     *[]Part           `json:"parts,omitempty"` // set when the step handed agents over to the jobs of a matrix
	Last      *LastConversation `json:"last,omitempty"`  // set when main ended, if the run records the last conversation
}

// Apply applies the step d to r. The caller must have saved d before.
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
		if _, known := r.byID[a.ID]; known {
			r.Agents[r.position(a.N)] = a
		} else {
			r.Agents = append(r.Agents, a)
		}
		r.byID[a.ID] = a
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
	r.dropOldEndings()
}

// CheckFollows returns an error if d can't be the next step of r. Agents must be in the order of their
// numbers, and an agent must keep its number.
func (d *Delta) CheckFollows(r *Run) error {
	if d.Progress.Seq != r.Progress.Seq+1 {
		return fmt.Errorf("is step %d, want %d", d.Progress.Seq, r.Progress.Seq+1)
	}
	last, seen := 0, map[string]bool{}
	if n := len(r.Agents); n > 0 {
		last = r.Agents[n-1].N
	}
	for i, a := range d.Agents {
		old, known := r.Agent(a.ID)
		switch {
		case seen[a.ID]:
			return fmt.Errorf("agents[%d].id: %q appears twice", i, a.ID)
		case known && a.N != old.N:
			return fmt.Errorf("agents[%d].n: is %d, was %d", i, a.N, old.N)
		case !known && a.N <= last:
			return fmt.Errorf("agents[%d].n: is %d, want more than %d", i, a.N, last)
		}
		seen[a.ID], last = true, max(last, a.N)
	}
	return nil
}

// markDelivered returns a copy of ended in which Delivered is set for the given agents. It does not
// change ended.
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

// With returns a copy of r to which d has been applied. It does not change r. The copy shares the agents
// that d does not change, so these must not be changed.
func (r *Run) With(d *Delta) *Run {
	next := r.copied()
	next.Apply(d)
	return next
}

// copied returns a copy of r. The caller may append to Agents, Ended, Ledger and Used, and replace elements
// of Agents, without changing r. The agents themselves are shared.
func (r *Run) copied() *Run {
	c := *r
	c.byID = nil
	c.Agents, c.Ended, c.Ledger, c.Used = slices.Clone(r.Agents), slices.Clip(r.Ended), slices.Clip(r.Ledger), slices.Clip(r.Used)
	return &c
}

// index fills byID if it is nil.
func (r *Run) index() {
	if r.byID != nil {
		return
	}
	r.byID = make(map[string]*Agent, len(r.Agents))
	for _, a := range r.Agents {
		r.byID[a.ID] = a
	}
}

// position returns the index in Agents of the agent with the creation number n.
func (r *Run) position(n int) int {
	at, _ := slices.BinarySearchFunc(r.Agents, n, func(a *Agent, n int) int { return a.N - n })
	return at
}

// Agent returns the agent with the given id. The caller must not change it.
func (r *Run) Agent(id string) (*Agent, bool) {
	r.index()
	a, ok := r.byID[id]
	return a, ok
}

// Result returns the result of the main agent. It returns false if the main agent has not ended.
func (r *Run) Result() (Text, bool) {
	for _, e := range r.Ended {
		if e.Agent == mainAgent {
			return e.Result, true
		}
	}
	return "", false
}

// UnsavedEvent returns an event that does not belong to a step. The event is about the agent a in its
// current state, or about the whole run if a is nil. A crash may lose the event, but no other event gets
// its number.
func (r *Run) UnsavedEvent(now time.Time, a *Agent, body Body) Event {
	r.Progress.Events++
	e := about(a, body)
	e.Seq, e.Time = r.Progress.Events, stamp(now)
	return e
}

// A run keeps the results of the maxEndings agents that ended last, and only counts older ones. Old
// results are dropped in groups of more than dropSlack, so that most steps drop nothing.
const (
	maxEndings = 1000
	dropSlack  = 250
)

// dropOldEndings removes old results from Ended and counts them in Forgotten. Its effect depends only on
// the run, so replaying a journal has the same effect.
func (r *Run) dropOldEndings() {
	// The results of a part are needed when the part is merged.
	_, isPart := r.Parts.OwnPart()
	if isPart || len(r.Ended) <= maxEndings+dropSlack {
		return
	}
	// The result of the main agent is the result of the run. Other results may still be delivered by a join.
	mayDrop := func(e Ending) bool {
		return e.Agent != mainAgent && (!r.Progress.HasJoin || e.Delivered || e.Parent == "")
	}
	old := -maxEndings
	for _, e := range r.Ended {
		if mayDrop(e) {
			old++
		}
	}
	if old <= dropSlack {
		return
	}
	r.Forgotten += old
	r.Ended = slices.DeleteFunc(slices.Clone(r.Ended), func(e Ending) bool {
		drops := old > 0 && mayDrop(e)
		if drops {
			old--
		}
		return drops
	})
}
