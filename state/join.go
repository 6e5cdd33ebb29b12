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

// completeJoins delivers to those of some agents that have nobody left to wait for, and returns
// them.
func (s *Step) completeJoins(waiting []string) []string {
	open := map[string]bool{}
	for _, id := range waiting {
		open[id] = true
	}
	for a := range s.Agents() {
		if len(open) == 0 {
			return nil
		}
		if !s.isDeliverable(a) {
			s.eachAncestor(a.Parent, func(ancestor string) { delete(open, ancestor) })
		}
	}
	waiting = slices.DeleteFunc(waiting, func(id string) bool { return !open[id] })
	for _, id := range waiting {
		s.deliver(id)
	}
	return waiting
}

// isDeliverable reports whether a join need not wait for an agent: it has failed, others
// continue in spite of that, and the step may change it.
func (s *Step) isDeliverable(a *Agent) bool {
	return a.Status == Stuck && s.Options().KeepGoing && s.isMember(a)
}

// deliver gives an agent, as its payload, what has become of those that it has forked, and
// of theirs, as far as no join has delivered that yet. Those that have failed end.
func (s *Step) deliver(id string) {
	list := []delivery{}
	costs := map[string]USD{}
	for e := range s.ledger().entries() {
		costs[e.Agent] = costs[e.Agent].Plus(e.CostUSD)
	}
	for _, e := range descendants(s.children(), id) {
		item := delivery{Agent: e.Agent, Status: "completed", CostUSD: costs[e.Agent]}
		if e.Error != "" {
			item.Status, item.Error = "failed", e.Error
		} else {
			item.Result = &e.Result
		}
		list = append(list, item)
		if _, alive := s.Agent(e.Agent); alive {
			s.edit(e.Agent).Status = removed
			s.delta.Ended = append(s.delta.Ended, e)
		}
		s.delta.Delivered = append(s.delta.Delivered, e.Agent)
	}
	payload, err := marshal(list)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	s.edit(id).Payload = Text(payload)
}

// children returns the agents that may be delivered, by the agent that has forked them.
func (s *Step) children() map[string][]Ending {
	children := map[string][]Ending{}
	for _, list := range [][]Ending{s.run.Ended, s.delta.Ended} {
		for _, e := range list {
			if e.Parent != "" && !e.Delivered {
				children[e.Parent] = append(children[e.Parent], e)
			}
		}
	}
	for a := range s.Agents() {
		if s.isDeliverable(a) {
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

// eachAncestor calls do with an agent and its ancestors that are alive. The name of an agent begins
// with that of whoever has forked it.
func (s *Step) eachAncestor(id string, do func(string)) {
	for id != "" {
		if a, alive := s.Agent(id); alive {
			do(id)
			id = a.Parent
		} else {
			id = id[:max(0, strings.LastIndexByte(id, '_'))]
		}
	}
}
