package invarianttest

import (
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// waits takes the begin of a wait.
func (w *walk) waits(e state.Event, a *walker, b *state.AgentWaits) {
	if a.waits != "" || e.State != a.at || a.open && b.For != state.ForTime && b.For != state.ForJob {
		w.f.add("P-1", "event %d: the agent %s waits for %s before %s, and is at %s, waiting for %q, under way: %v",
			e.Seq, e.Agent, b.For, e.State, a.at, a.waits, a.open)
	}
	a.waits = b.For
}

// continues takes the end of a wait.
func (w *walk) continues(e state.Event, a *walker, b *state.AgentGoesOn) {
	if a.waits == "" {
		w.f.add("P-4", "event %d: the agent %s continues by %s, and doesn't wait", e.Seq, e.Agent, b.By)
	}
	switch {
	case a.waits == state.ForAnswer && b.By == "timeout":
		a.at = e.State
	case e.State != a.at:
		w.f.add("P-1", "event %d: the agent %s continues at %s, and is at %s", e.Seq, e.Agent, e.State, a.at)
	case a.waits == state.ForAgents:
		w.deliver(e.Agent)
	}
	a.waits = ""
}

// settle takes the next event of an agent that has joined: unless it waits now, nobody was
// left to wait for.
func (w *walk) settle(e state.Event) {
	a := w.agents[e.Agent]
	if a == nil || !a.joins {
		return
	}
	a.joins = false
	if b, ok := e.Body.(*state.AgentWaits); !ok || b.For != state.ForAgents {
		w.deliver(e.Agent)
	}
}

// settleAll takes the end of a step.
func (w *walk) settleAll() {
	for _, id := range slices.Sorted(maps.Keys(w.agents)) {
		if a := w.agents[id]; a.joins {
			a.joins = false
			w.deliver(id)
		}
	}
}

// deliver takes the end of a join: all that the agent has forked, and theirs, have ended,
// or have failed and end now.
func (w *walk) deliver(id string) {
	for _, other := range slices.Sorted(maps.Keys(w.agents)) {
		a := w.agents[other]
		if other == id || !w.descends(other, id) || a.delivered {
			continue
		}
		if !a.ended && !a.stuck && !a.again {
			w.f.add("P-3", "the agent %s has joined those that it forked, and %s has not ended", id, other)
		}
		a.ended, a.delivered = true, true
	}
}

// descends reports whether an agent was forked by another one, or by one that was.
func (w *walk) descends(id, ancestor string) bool {
	for a := w.agents[id]; a != nil; a = w.agents[id] {
		if id = a.parent; id == ancestor {
			return true
		}
	}
	return false
}

// waitFits compares what an agent waits for with the log.
func (w *walk) waitFits(what string, a *state.Agent, b walker) {
	now := state.WaitFor("")
	if a.Waits != nil {
		now = a.Waits.For
	}
	if now != b.waits {
		w.f.add("P-1", "%s: the agent %s waits for %q, and by the log for %q", what, a.ID, now, b.waits)
	}
}
