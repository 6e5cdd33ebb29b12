package invarianttest

import (
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// walker describes an agent's place in the workflow, and what else the log shows about the agent.
type walker struct {
	at     string     // the state of the agent
	stack  []string   // return stack
	open   bool       // an execution has started and has not ended
	cut    bool       // the open execution was interrupted and has not started again
	moves  bool       // an execution has ended, so the agent may move
	leaves bool       // the agent's last move ends the agent
	waits  bool       // the agent is waiting
	failed bool       // the agent has failed and has not started again
	ended  bool       // the agent has ended with a result
	result state.Text // the result of an agent that has ended
}

// walk follows all agents of a run through the log.
type walk struct {
	f         *findings
	agents    map[string]*walker
	segment   int                       // number of the current segment, from 1
	closed    bool                      // the current segment has ended
	fork      *state.Event              // the previous event, if it is a fork: its agent must start next
	positions map[int]map[string]walker // copies of all walkers, by the number of an event after which a run was saved
}

// replay follows the log and reports events that cannot occur in a run.
func replay(ev Evidence, f *findings) *walk {
	w := &walk{f: f, agents: map[string]*walker{}, positions: map[int]map[string]walker{}}
	for _, run := range append(savedRuns(ev), ev.Run) {
		if run != nil {
			w.positions[run.Progress.Events] = nil
		}
	}
	last := 0
	for _, e := range ev.Events {
		if e.Seq <= last {
			f.add("P-9", "event %d of the log comes after event %d", e.Seq, last)
		}
		last = e.Seq
		w.take(e)
		if _, isKnown := w.positions[e.Seq]; isKnown {
			w.positions[e.Seq] = map[string]walker{}
			for id, a := range w.agents {
				c := *a
				c.stack = slices.Clone(a.stack)
				w.positions[e.Seq][id] = c
			}
		}
	}
	return w
}

// take updates the walk for one event, and reports the event if it cannot occur at this point.
func (w *walk) take(e state.Event) {
	// A fork must be followed by the agent_started of its agent. Only the first agent starts without a fork.
	fork := w.fork
	w.fork = nil
	started, ok := e.Body.(*state.AgentStarted)
	if fork != nil && (!ok || started.Parent != fork.Agent || fork.Body.(*state.Transition).Target != e.State) {
		w.f.add("P-3", "event %d, the fork of %s: its agent was not started", fork.Seq, fork.Agent)
	}
	if ok {
		if w.agents[e.Agent] != nil || fork == nil && (started.Parent != "" || len(w.agents) > 0) {
			w.f.add("P-3", "event %d: no fork created the agent %s, or it is started twice", e.Seq, e.Agent)
		}
		w.agents[e.Agent] = &walker{at: e.State}
	}
	switch b := e.Body.(type) {
	case *state.RunStarted:
		w.segment++
		if w.closed = false; b.Resumed != (w.segment > 1) {
			w.f.add("P-9", "event %d: run_started of segment %d has resumed %v", e.Seq, w.segment, b.Resumed)
		}
	case *state.RunFinished:
		if w.closed || w.segment == 0 {
			w.f.add("P-9", "event %d: segment %d of the run ends twice", e.Seq, w.segment)
		}
		w.closed = true
	case *state.AgentStarted, *state.Checkpoint, *state.AgentOutput, *state.Limit:
	default:
		w.ofAgent(e)
	}
}

// wrong reports that the event e contradicts the earlier events about the agent a. It reports nothing if
// its second argument is false.
func (w *walk) wrong(id string, is bool, e state.Event, a *walker) {
	if is {
		w.f.add(id, "event %d, %s of %s at %s: according to the log, its position is %+v", e.Seq, e.Body.Type(), e.Agent, e.State, *a)
	}
}

// ofAgent updates the walker of the agent to which an event belongs.
func (w *walk) ofAgent(e state.Event) {
	a := w.agents[e.Agent]
	if a == nil {
		w.f.add("P-3", "event %d, %s: no fork created the agent %s", e.Seq, e.Body.Type(), e.Agent)
		a = &walker{at: e.State}
		w.agents[e.Agent] = a
	}
	w.wrong("P-9", w.closed || w.segment == 0, e, a)
	w.wrong("P-1", a.ended, e, a)
	switch b := e.Body.(type) {
	case *state.Transition:
		w.wrong("P-1", !a.moves || b.From != a.at && b.Tag != "fork", e, a)
		w.wrong("P-4", !w.follow(e, a, b), e, a)
	case *state.AgentFinished:
		if a.failed = b.Result == nil; !a.failed {
			w.wrong("P-4", !a.leaves, e, a)
			a.ended, a.result = true, *b.Result
		}
	case *state.AgentWaits:
		w.wrong("P-1", a.waits || e.State != a.at, e, a)
		a.waits = true
	case *state.AgentGoesOn:
		w.wrong("P-4", !a.waits || e.State != a.at && b.By != "timeout", e, a)
		a.waits, a.at = false, e.State
	case *state.StateStarted:
		w.wrong("P-1", a.waits || e.State != a.at, e, a)
		w.wrong("P-2", a.open && !a.cut, e, a)
		a.open, a.cut, a.failed, a.moves = true, false, false, false
	case *state.AttemptInterrupted:
		a.cut = true
	case *state.StateFinished:
		w.wrong("P-1", e.State != a.at || !a.open && !a.failed, e, a)
		a.open, a.cut, a.failed, a.moves = false, false, false, true
	}
}

// follow updates the walker of an agent for a transition. It returns false if the transition is a result
// that returns to the wrong state.
func (w *walk) follow(e state.Event, a *walker, b *state.Transition) bool {
	switch b.Tag {
	case "fork":
		a.at, w.fork = b.Next, &e
		return true // another fork may follow
	case "call", "function":
		a.stack = append(a.stack, b.Return)
	case "result":
		top, n := "", len(a.stack)
		if n > 0 {
			top, a.stack = a.stack[n-1], a.stack[:n-1]
		}
		if a.leaves = b.Target == ""; top != b.Target {
			return false
		}
	}
	a.moves = false
	if !a.leaves {
		a.at = b.Target
	}
	return true
}

// fits compares the agents of a saved run with the walkers at the time when it was saved.
func (w *walk) fits(what string, run *state.Run) {
	at := w.positions[run.Progress.Events]
	if at == nil {
		return // the log lacks this event, for example because it is an agent_output
	}
	if run.Progress.Created != len(at) {
		w.f.add("P-3", "%s: %d agents were created, but the log has %d", what, run.Progress.Created, len(at))
	}
	for _, a := range run.Agents {
		var stack []string
		for _, frame := range a.Stack {
			stack = append(stack, frame.State)
		}
		switch b, ok := at[a.ID]; {
		case !ok || b.ended:
			w.f.add("P-3", "%s: no fork created %s, or it has ended", what, a.ID)
		case a.State != b.at || (a.Waits != nil) != b.waits:
			w.f.add("P-1", "%s: the agent %s is at %s, but according to the log %+v", what, a.ID, a.State, b)
		case !slices.Equal(stack, b.stack):
			w.f.add("P-4", "%s: the agent %s returns to %q, but according to the log to %q", what, a.ID, stack, b.stack)
		}
	}
	for _, e := range run.Ended {
		switch b := at[e.Agent]; {
		// A join also ends agents that have failed.
		case b.ended == (e.Error != "") || b.failed != (e.Error != ""):
			w.f.add("P-3", "%s: %s has ended, but according to the log is %+v", what, e.Agent, b)
		case b.result != e.Result:
			w.f.add("P-4", "%s: the result of %s is %q, but was %q", what, e.Agent, e.Result, b.result)
		}
	}
}
