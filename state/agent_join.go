package state

import (
	"cmp"
	"slices"
	"strings"
)

// delivery describes an ended agent in the payload that a join delivers.
type delivery struct {
	Agent   string `json:"agent"`
	Status  string `json:"status"`
	Result  *Text  `json:"result,omitempty"`
	Error   string `json:"error,omitempty"`
	CostUSD USD    `json:"cost_usd"`
}

// completeJoins delivers results to the waiting agents whose descendants have all ended. A failed
// descendant counts as ended if isDeliverable returns true for it. completeJoins returns the agents that
// got results, and may change the slice waiting.
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

// isDeliverable reports whether a join may deliver the agent's failure instead of waiting for the agent.
// It may if the agent has failed, the run continues in spite of failures, and the step may change the
// agent.
func (s *Step) isDeliverable(a *Agent) bool {
	return a.Status == Stuck && s.Options().KeepGoing && s.isMember(a)
}

// deliver sets the agent's payload to the results of all its descendants that no join has delivered yet.
// Failed descendants end, because their failure is delivered.
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
	payload, err := Marshal(list)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	s.edit(id).Payload = Text(payload)
}

// children maps the name of each agent to the deliverable results of the agents that it forked.
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

// descendants returns the results of an agent's descendants. The agent's children are in the order in
// which they were forked. Each child is followed by its own descendants.
func descendants(children map[string][]Ending, id string) []Ending {
	var all []Ending
	mine := slices.SortedFunc(slices.Values(children[id]), func(a, b Ending) int { return cmp.Compare(a.N, b.N) })
	for _, e := range mine {
		all = append(append(all, e), descendants(children, e.Agent)...)
	}
	return all
}

// eachAncestor calls do for the agent itself and for each of its ancestors, if they have not ended. It
// also finds ancestors of ended agents, because an agent's name begins with the name of its parent.
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
