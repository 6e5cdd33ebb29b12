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

// completeJoins returns the results that joins deliver, by the agent that waits for them. It contains the
// agents in waiting whose descendants have all ended, with all results of the descendants that no join has
// delivered yet. A failed descendant counts as ended if the run continues in spite of failures and the step
// may change the descendant.
func (d *draft) completeJoins(waiting []string) map[string][]Ending {
	if len(waiting) == 0 {
		return nil
	}
	isDeliverable := func(a *Agent) bool { return a.Status == Stuck && d.Options().KeepGoing && d.group.has(a) }
	alive, results := map[string]*Agent{}, map[string][]Ending{}
	for _, id := range waiting {
		results[id] = nil
	}
	for a := range d.Agents() {
		alive[a.ID] = a
	}
	for _, a := range alive {
		if isDeliverable(a) {
			continue
		}
		// An ancestor may have ended, but an agent's name begins with the name of its parent.
		for id := a.Parent; id != "" && len(results) > 0; {
			if parent, ok := alive[id]; ok {
				delete(results, id)
				id = parent.Parent
			} else {
				id = id[:max(0, strings.LastIndexByte(id, '_'))]
			}
		}
	}
	if len(results) == 0 {
		return nil
	}
	children := map[string][]Ending{}
	for e := range d.ended() {
		if e.Parent != "" && !e.Delivered {
			children[e.Parent] = append(children[e.Parent], *e)
		}
	}
	for _, a := range alive {
		if isDeliverable(a) {
			children[a.Parent] = append(children[a.Parent], Ending{Agent: a.ID, Parent: a.Parent, N: a.N, Error: a.Failure.Message})
		}
	}
	for id := range results {
		results[id] = descendants(children, id)
	}
	return results
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

// deliver sets the agent's payload to the results. Failed agents among them end, because their failure is
// delivered.
func (d *draft) deliver(to *Agent, results []Ending) {
	list := []delivery{}
	costs := map[string]USD{}
	for e := range d.ledger().entries {
		costs[e.Agent] = costs[e.Agent].Plus(e.CostUSD)
	}
	for _, e := range results {
		item := delivery{Agent: e.Agent, Status: "completed", CostUSD: costs[e.Agent]}
		if e.Error != "" {
			item.Status, item.Error = "failed", e.Error
		} else {
			item.Result = &e.Result
		}
		list = append(list, item)
		if _, alive := d.Agent(e.Agent); alive {
			d.edit(e.Agent).Status = removed
			d.delta.Ended = append(d.delta.Ended, e)
		}
		d.delta.Delivered = append(d.delta.Delivered, e.Agent)
	}
	payload, err := Marshal(list)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	to.Payload = Text(payload)
}
