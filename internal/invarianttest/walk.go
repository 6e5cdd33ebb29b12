package invarianttest

import (
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// walker is where an agent is, as the log tells it.
type walker struct {
	at     string   // state
	stack  []string // states to return to
	open   bool     // an execution has begun and has not ended
	cut    bool     // and was interrupted, and not begun again
	moves  bool     // its execution has ended, so that it may move
	leaves bool     // it has moved to its end
	waits  bool
	failed bool // and has not begun again
	ended  bool
	result state.Text
}

// walk follows all agents of a run through its log.
type walk struct {
	f      *findings
	agents map[string]*walker
	part   int // of the run, from 1
	closed bool
	fork   *state.Event              // whose agent must start next
	past   map[int]map[string]walker // where everybody was, after each event at which the run is known
}

// replay follows a log and reports where it is not that of a run.
func replay(l Evidence, f *findings) *walk {
	w := &walk{f: f, agents: map[string]*walker{}, past: map[int]map[string]walker{}}
	for _, run := range append(saves(l), l.Run) {
		if run != nil {
			w.past[run.Progress.Events] = nil
		}
	}
	last := 0
	for _, e := range l.Events {
		if e.Seq <= last {
			f.add("P-9", "event %d of the log comes after event %d", e.Seq, last)
		}
		last = e.Seq
		w.take(e)
		if _, isKnown := w.past[e.Seq]; isKnown {
			w.past[e.Seq] = w.position()
		}
	}
	return w
}

// position is where everybody is now.
func (w *walk) position() map[string]walker {
	p := map[string]walker{}
	for id, a := range w.agents {
		p[id] = *a
		c := p[id]
		c.stack = slices.Clone(a.stack)
		p[id] = c
	}
	return p
}

func (w *walk) take(e state.Event) {
	started, ok := e.Body.(*state.AgentStarted)
	if ok || w.fork != nil {
		w.start(e, started)
	}
	switch b := e.Body.(type) {
	case *state.RunStarted:
		w.part++
		if w.closed = false; b.Resumed != (w.part > 1) {
			w.f.add("P-9", "event %d: run_started of part %d has resumed %v", e.Seq, w.part, b.Resumed)
		}
	case *state.RunFinished:
		if w.closed || w.part == 0 {
			w.f.add("P-9", "event %d: part %d of the run ends twice", e.Seq, w.part)
		}
		w.closed = true
	case *state.AgentStarted, *state.Checkpoint, *state.AgentOutput, *state.Limit:
	default:
		w.ofAgent(e)
	}
}

// start takes the start of an agent, which follows the fork that made it; nil for another event that follows a fork.
func (w *walk) start(e state.Event, b *state.AgentStarted) {
	fork := w.fork
	w.fork = nil
	if b == nil || fork != nil && (b.Parent != fork.Agent || fork.Body.(*state.Transition).Target != e.State) {
		w.f.add("P-3", "event %d, the fork of %s: its agent was not started", fork.Seq, fork.Agent)
	}
	if b == nil {
		return
	}
	if w.agents[e.Agent] != nil || fork == nil && (b.Parent != "" || len(w.agents) > 0) {
		w.f.add("P-3", "event %d: no fork made the agent %s, or it is started twice", e.Seq, e.Agent)
	}
	w.agents[e.Agent] = &walker{at: e.State}
}

// wrong reports an event that can't be one of an agent.
func (w *walk) wrong(id string, is bool, e state.Event, a *walker) {
	if is {
		w.f.add(id, "event %d, %s of %s at %s: by the log it is %+v", e.Seq, e.Body.Type(), e.Agent, e.State, *a)
	}
}

func (w *walk) ofAgent(e state.Event) {
	a := w.agents[e.Agent]
	if a == nil {
		w.f.add("P-3", "event %d, %s: no fork made the agent %s", e.Seq, e.Body.Type(), e.Agent)
		a = &walker{at: e.State}
		w.agents[e.Agent] = a
	}
	w.wrong("P-9", w.closed || w.part == 0, e, a)
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
	default:
		w.execute(e, a)
	}
}

// execute takes what happens in an execution.
func (w *walk) execute(e state.Event, a *walker) {
	switch e.Body.(type) {
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

// follow takes a transition, and reports false for a result that returns to another state than the one that waits for it.
func (w *walk) follow(e state.Event, a *walker, b *state.Transition) bool {
	switch b.Tag {
	case "fork":
		a.at, w.fork = b.Next, &e
		return true // another one may follow
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

// fits compares a saved run with where everybody was when it was saved.
func (w *walk) fits(what string, run *state.Run) {
	at := w.past[run.Progress.Events]
	if at == nil {
		return // the event is not in the log: of an agent's words, say
	}
	if run.Progress.Created != len(at) {
		w.f.add("P-3", "%s: %d agents were created, and the log has %d", what, run.Progress.Created, len(at))
	}
	for _, a := range run.Agents {
		var stack []string
		for _, frame := range a.Stack {
			stack = append(stack, frame.State)
		}
		switch b, ok := at[a.ID]; {
		case !ok || b.ended:
			w.f.add("P-3", "%s: no fork made %s, or it has ended", what, a.ID)
		case a.State != b.at || (a.Waits != nil) != b.waits:
			w.f.add("P-1", "%s: the agent %s is at %s, and by the log %+v", what, a.ID, a.State, b)
		case !slices.Equal(stack, b.stack):
			w.f.add("P-4", "%s: the agent %s returns to %q, and by the log to %q", what, a.ID, stack, b.stack)
		}
	}
	for _, e := range run.Ended {
		switch b := at[e.Agent]; {
		case b.ended == (e.Error != "") || b.failed != (e.Error != ""): // a join ends those that have failed
			w.f.add("P-3", "%s: %s has ended, and by the log is %+v", what, e.Agent, b)
		case b.result != e.Result:
			w.f.add("P-4", "%s: the result of %s is %q, and was %q", what, e.Agent, e.Result, b.result)
		}
	}
}
