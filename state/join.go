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

// joins decides which agents have nobody left to wait for of those that they have forked.
type joins struct {
	draft   *draft
	members members
	family  *family
}

// complete delivers to those of some agents that have nobody left to wait for, and returns
// them.
func (j joins) complete(waiting []string) []string {
	open := map[string]bool{}
	for _, id := range waiting {
		open[id] = true
	}
	for a := range j.draft.agents() {
		if len(open) == 0 {
			return nil
		}
		if !j.isDeliverable(a) {
			j.family.each(a.Parent, func(ancestor string) { delete(open, ancestor) })
		}
	}
	waiting = slices.DeleteFunc(waiting, func(id string) bool { return !open[id] })
	for _, id := range waiting {
		j.deliver(id)
	}
	return waiting
}

// atOnce delivers to an agent if nobody is left to wait for, and reports false otherwise.
func (j joins) atOnce(a *Agent) bool {
	j.draft.delta.Progress.HasJoin = true
	return len(j.complete([]string{a.ID})) > 0
}

// isDeliverable reports whether a join need not wait for an agent: it has failed, others
// continue in spite of that, and the step may change it.
func (j joins) isDeliverable(a *Agent) bool {
	return a.Status == Stuck && j.draft.options().KeepGoing && j.members.has(a)
}

// deliver gives an agent, as its payload, what has become of those that it has forked, and
// of theirs, as far as no join has delivered that yet. Those that have failed end.
func (j joins) deliver(id string) {
	d, list := j.draft, []delivery{}
	costs := d.run.RerunOf.with(d.ledger().byAgent())
	for _, e := range descendants(j.children(), id) {
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

// children returns the agents that may be delivered, by the agent that has forked them.
func (j joins) children() map[string][]Ending {
	children := map[string][]Ending{}
	for _, list := range [][]Ending{j.draft.run.Ended, j.draft.delta.Ended} {
		for _, e := range list {
			if e.Parent != "" && !e.Delivered {
				children[e.Parent] = append(children[e.Parent], e)
			}
		}
	}
	for a := range j.draft.agents() {
		if j.isDeliverable(a) {
			children[a.Parent] = append(children[a.Parent], Ending{Agent: a.ID, Parent: a.Parent, N: a.N, Error: a.Failure.Message})
		}
	}
	return children
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
