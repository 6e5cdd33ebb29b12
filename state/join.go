package state

import (
	"cmp"
	"slices"
	"strings"
)

// delivery is an agent that has ended, as a join delivers it.
type delivery struct {
	Agent   string `json:"agent"`
	Status  string `json:"status"`
	Result  *Text  `json:"result,omitempty"`
	Error   string `json:"error,omitempty"`
	CostUSD USD    `json:"cost_usd"`
}

// joined ends the waits of those of some agents that have nobody left to wait for, and
// returns them.
func (s *Step) joined(waiting []string) []string {
	if len(waiting) == 0 {
		return nil
	}
	f := s.family()
	open := map[string]bool{}
	for _, id := range waiting {
		open[id] = true
	}
	for a := range s.draft.agents() {
		if len(open) == 0 {
			return nil
		}
		if !s.isDeliverable(a) {
			f.each(a.Parent, func(ancestor string) { delete(open, ancestor) })
		}
	}
	waiting = slices.DeleteFunc(waiting, func(id string) bool { return !open[id] })
	for _, id := range waiting {
		s.deliver(id)
		s.proceed(id, "agents")
	}
	return waiting
}

// join makes an agent wait for those that it has forked; not at all when nobody is left
// to wait for.
func (s *Step) join(a *Agent) {
	s.draft.delta.Progress.HasJoin = true
	f := s.family()
	for other := range s.draft.agents() {
		if !s.isDeliverable(other) && f.has(other.Parent, a.ID) {
			s.await(a, Waits{For: ForAgents})
			return
		}
	}
	s.deliver(a.ID)
}

// isDeliverable reports whether a join need not wait for an agent: it has failed, others
// continue in spite of that, and the step may change it.
func (s *Step) isDeliverable(a *Agent) bool {
	return a.Status == Stuck && s.Options().KeepGoing && s.isMember(a)
}

// deliver gives an agent, as its payload, what has become of those that it has forked, and
// of theirs, as far as no join has delivered that yet. Those that have failed end.
func (s *Step) deliver(id string) {
	d := s.draft
	children := map[string][]Ending{}
	for _, list := range [][]Ending{d.run.Ended, d.delta.Ended} {
		for _, e := range list {
			if e.Parent != "" && !e.Delivered {
				children[e.Parent] = append(children[e.Parent], e)
			}
		}
	}
	for a := range d.agents() {
		if s.isDeliverable(a) {
			children[a.Parent] = append(children[a.Parent], Ending{Agent: a.ID, Parent: a.Parent, N: a.N, Error: a.Failure.Message})
		}
	}
	found := descendants(children, id)
	costs, list := d.ledger().byAgent(), make([]delivery, 0, len(found))
	for _, e := range found {
		item := delivery{Agent: e.Agent, Status: "completed", CostUSD: costs[e.Agent]}
		if e.Error != "" {
			item.Status, item.Error = "failed", e.Error
		} else {
			item.Result = &e.Result
		}
		list = append(list, item)
		if _, alive := d.agent(e.Agent); alive {
			d.edit(e.Agent).Status = removed
			d.delta.Ended = append(d.delta.Ended, e)
		}
		d.delta.Delivered = append(d.delta.Delivered, e.Agent)
	}
	payload, err := marshal(list)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	d.edit(id).Payload = Text(payload)
}

// descendants returns those who have ended of the children of an agent, in the order in
// which they were forked, each followed by its own descendants.
func descendants(children map[string][]Ending, id string) []Ending {
	var all []Ending
	mine := slices.SortedFunc(slices.Values(children[id]), func(a, b Ending) int { return cmp.Compare(a.N, b.N) })
	for _, e := range mine {
		all = append(append(all, e), descendants(children, e.Agent)...)
	}
	return all
}

// family knows who has forked whom.
type family struct {
	draft   *draft
	parents map[string]string // of agents that have ended; nil until it is needed
}

func (s *Step) family() *family { return &family{draft: s.draft} }

// each calls f with an agent and its ancestors that are alive.
func (f *family) each(id string, do func(string)) {
	for id != "" {
		a, alive := f.draft.agent(id)
		if alive {
			do(id)
			id = a.Parent
			continue
		}
		id = f.parentOfEnded(id)
	}
}

// has reports whether an agent is another one or descends from it.
func (f *family) has(id, ancestor string) bool {
	found := false
	f.each(id, func(other string) { found = found || other == ancestor })
	return found
}

// parentOfEnded returns who has forked an agent that has ended. When that is no longer
// kept, it is the agent whose name is the longest beginning of its name.
func (f *family) parentOfEnded(id string) string {
	if f.parents == nil {
		f.parents = map[string]string{}
		for _, list := range [][]Ending{f.draft.run.Ended, f.draft.delta.Ended} {
			for _, e := range list {
				f.parents[e.Agent] = e.Parent
			}
		}
	}
	if parent, known := f.parents[id]; known && (parent != "" || id == mainAgent) {
		return parent
	}
	for id != "" {
		id = id[:max(0, strings.LastIndexByte(id, '_'))]
		if _, alive := f.draft.agent(id); alive {
			return id
		}
	}
	return ""
}

// descends reports whether an agent's name is that of one which another has forked, or
// one that it has forked has.
func descends(id, ancestor string) bool { return strings.HasPrefix(id, ancestor+"_") }
