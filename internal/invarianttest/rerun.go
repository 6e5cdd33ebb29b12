package invarianttest

import "github.com/raymond-action/raymond-action/state"

// inherit puts the agents where the run has them that a rerun began as. Its log tells them anew.
func (w *walk) inherit(run *state.Run) {
	if run == nil {
		return
	}
	w.inherited = map[string]bool{}
	for _, a := range run.Agents {
		w.inherited[a.ID] = true
		walker := &walker{at: a.State, parent: a.Parent, open: a.Exec != nil, interrupted: a.Exec != nil}
		for _, frame := range a.Stack {
			walker.stack = append(walker.stack, frame.State)
		}
		w.agents[a.ID] = walker
	}
	for _, e := range run.Ended {
		w.agents[e.Agent] = &walker{parent: e.Parent, ended: true, delivered: e.Delivered}
		w.results[e.Agent] = e.Result
	}
}
