package invarianttest

import (
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// walker is where an agent is, as the log tells it.
type walker struct {
	at          string   // state
	stack       []string // states to return to
	open        bool     // an execution has begun and has not ended
	interrupted bool     // and was cut off, and not begun again
	stuck       bool     // it has failed
	again       bool     // it had failed, and the run was resumed since
	mayMove     bool     // its execution has ended
	leaves      bool     // it has moved to its end
	ended       bool
	waits       state.WaitFor // "" when it doesn't
	joins       bool          // it has joined, and it isn't known yet whether it waits
	delivered   bool          // it has ended, and a join has delivered it
	parent      string
	cut         int // the part of the run in which it was interrupted last
	late        int // the same, for a second time
}

// walk follows all agents of a run through its log.
type walk struct {
	f       *findings
	agents  map[string]*walker
	results map[string]state.Text
	part    int // of the run, from 1
	closed  bool
	awaited *state.Event // the fork whose agent must start next
	// inherited are the agents of a rerun that its log has not told yet.
	inherited map[string]bool
	past      map[int]map[string]walker // where everybody was, after each event at which the run is known
}

// replay follows a log and reports where it is not that of a run.
func replay(l Left, f *findings) *walk {
	w := &walk{f: f, agents: map[string]*walker{}, results: map[string]state.Text{}, past: map[int]map[string]walker{}}
	w.inherit(l.Began)
	for _, run := range append(saves(l), l.Run) {
		if run != nil {
			w.past[run.Progress.Events] = nil
		}
	}
	events := l.Events
	for i, e := range events {
		if i > 0 && e.Seq <= events[i-1].Seq {
			f.add("P-9", "event %d of the log has number %d, and the one before has %d", i+1, e.Seq, events[i-1].Seq)
		}
		w.take(e)
		if _, isKnown := w.past[e.Seq]; isKnown {
			w.past[e.Seq] = w.position()
		}
	}
	if len(events) > 0 && w.part == 0 {
		f.add("P-9", "the log does not begin with run_started")
	}
	return w
}

// position is where everybody is now.
func (w *walk) position() map[string]walker {
	w.settleAll()
	p := map[string]walker{}
	for id, a := range w.agents {
		c := *a
		c.stack = slices.Clone(a.stack)
		p[id] = c
	}
	return p
}

// agent returns the agent of an event. One that was never started is reported, and
// assumed to be where the event has it.
func (w *walk) agent(e state.Event) *walker {
	a := w.agents[e.Agent]
	if a == nil {
		w.f.add("P-3", "event %d, %s: no fork made the agent %s", e.Seq, e.Body.Type(), e.Agent)
		a = &walker{at: e.State}
		w.agents[e.Agent] = a
	}
	return a
}

func (w *walk) take(e state.Event) {
	if started, ok := e.Body.(*state.AgentStarted); ok {
		w.starts(e, started)
		return
	}
	if w.awaited != nil {
		w.f.add("P-3", "event %d, the fork of %s: no agent was started", w.awaited.Seq, w.awaited.Agent)
		w.awaited = nil
	}
	switch b := e.Body.(type) {
	case *state.RunStarted:
		w.begins(e, b)
	case *state.Checkpoint, *state.AgentOutput, *state.Limit:
	case *state.RunFinished:
		w.closes(e)
	default:
		if w.closed {
			w.f.add("P-9", "event %d, %s, comes after the end of its part of the run", e.Seq, e.Body.Type())
		}
		w.ofAgent(e, w.agent(e))
	}
}

func (w *walk) begins(e state.Event, b *state.RunStarted) {
	w.part++
	w.closed = false
	if b.Resumed != (w.part > 1) {
		w.f.add("P-9", "event %d: run_started of part %d has resumed %v", e.Seq, w.part, b.Resumed)
	}
	for _, a := range w.agents {
		a.again, a.stuck = a.again || a.stuck, false
	}
}

func (w *walk) closes(e state.Event) {
	if w.closed || w.part == 0 {
		w.f.add("P-9", "event %d: part %d of the run ends twice", e.Seq, w.part)
	}
	w.closed = true
}

// starts takes the start of an agent, which follows the fork that made it.
func (w *walk) starts(e state.Event, b *state.AgentStarted) {
	fork := w.awaited
	w.awaited = nil
	switch {
	case w.inherited[e.Agent]:
		delete(w.inherited, e.Agent)
		return
	case w.agents[e.Agent] != nil:
		w.f.add("P-3", "event %d: the agent %s is started twice", e.Seq, e.Agent)
	case b.Parent == "" && len(w.agents) > 0, b.Parent != "" && fork == nil:
		w.f.add("P-3", "event %d: no fork made the agent %s", e.Seq, e.Agent)
	case fork != nil && (fork.Agent != b.Parent || fork.Body.(*state.Transition).Target != e.State):
		w.f.add("P-3", "event %d: the agent %s of %s at %s is not the one of the fork of %s", e.Seq, e.Agent, b.Parent, e.State, fork.Agent)
	}
	w.agents[e.Agent] = &walker{at: e.State, parent: b.Parent}
}

func (w *walk) ofAgent(e state.Event, a *walker) {
	w.settle(e)
	if a.ended {
		w.f.add("P-1", "event %d, %s: the agent %s has ended", e.Seq, e.Body.Type(), e.Agent)
	}
	switch b := e.Body.(type) {
	case *state.StateStarted:
		w.executes(e, a)
	case *state.AttemptInterrupted:
		w.interrupts(e, a)
	case *state.StateFinished:
		if e.State != a.at || !a.open && !a.again {
			w.f.add("P-1", "event %d: the agent %s ends %s, and is at %s, under way: %v", e.Seq, e.Agent, e.State, a.at, a.open)
		}
		a.open, a.again, a.interrupted, a.mayMove = false, false, false, true
	case *state.Transition:
		w.moves(e, a, b)
	case *state.AgentFinished:
		w.finishes(e, a, b)
	case *state.AgentWaits:
		w.waits(e, a, b)
	case *state.AgentGoesOn:
		w.continues(e, a, b)
	}
}

// interrupts takes that an execution was cut off: once when the part begins, and once by the post part of a step whose
// main part was killed.
func (w *walk) interrupts(e state.Event, a *walker) {
	if !a.open && !a.again || a.late == w.part {
		w.f.add("P-2", "event %d: the agent %s has nothing that could be interrupted", e.Seq, e.Agent)
	}
	if a.cut == w.part {
		a.late = w.part
	}
	a.interrupted, a.cut = true, w.part
}

// executes takes the begin of an execution.
func (w *walk) executes(e state.Event, a *walker) {
	switch {
	case a.waits != "":
		w.f.add("P-1", "event %d: the agent %s executes %s, and waits for %s", e.Seq, e.Agent, e.State, a.waits)
	case e.State != a.at:
		w.f.add("P-1", "event %d: the agent %s executes %s, and is at %s", e.Seq, e.Agent, e.State, a.at)
	case a.open && !a.interrupted:
		w.f.add("P-2", "event %d: the agent %s executes %s again, and no event says why", e.Seq, e.Agent, e.State)
	}
	a.at, a.open, a.again, a.interrupted, a.mayMove = e.State, true, false, false, false
}

// moves takes a transition.
func (w *walk) moves(e state.Event, a *walker, b *state.Transition) {
	if !a.mayMove || b.From != a.at && b.Tag != "fork" || a.leaves {
		w.f.add("P-1", "event %d: the agent %s moves from %s, and is at %s, done: %v", e.Seq, e.Agent, b.From, a.at, a.mayMove)
	}
	switch b.Tag {
	case "fork":
		a.at, w.awaited = b.Next, &e
		return // another one may follow
	case "call", "function":
		a.stack, a.at = append(a.stack, b.Return), b.Target
	case "result":
		w.returns(e, a, b)
	default:
		a.at, a.joins = b.Target, b.Tag == "join"
	}
	a.mayMove = false
}

func (w *walk) returns(e state.Event, a *walker, b *state.Transition) {
	top := ""
	if n := len(a.stack); n > 0 {
		top, a.stack = a.stack[n-1], a.stack[:n-1]
	}
	if b.Target != top {
		w.f.add("P-4", "event %d: the agent %s returns to %q, and %q waits for it", e.Seq, e.Agent, b.Target, top)
	}
	if a.leaves = b.Target == ""; !a.leaves {
		a.at = b.Target
	}
}

func (w *walk) finishes(e state.Event, a *walker, b *state.AgentFinished) {
	if b.Result == nil {
		a.stuck = true
		return
	}
	if !a.leaves {
		w.f.add("P-4", "event %d: the agent %s has a result, and did not move to its end", e.Seq, e.Agent)
	}
	a.ended = true
	w.results[e.Agent] = *b.Result
}

// fits compares a saved run with where everybody was when it was saved.
func (w *walk) fits(what string, run *state.Run) {
	at := w.past[run.Progress.Events]
	if at == nil {
		return // the event is not in the log: of an agent's words, say
	}
	w.agentsFit(what, run, at)
	for _, a := range run.Agents {
		if b, ok := at[a.ID]; ok && !b.ended {
			w.placeFits(what, a, b)
		}
	}
	for _, e := range run.Ended {
		if got, told := w.results[e.Agent]; told && got != e.Result {
			w.f.add("P-4", "%s: the result of %s is %q, and was %q", what, e.Agent, e.Result, got)
		}
		if e.Delivered != at[e.Agent].delivered {
			w.f.add("P-4", "%s: a join has delivered %s: %v, by the log: %v", what, e.Agent, e.Delivered, at[e.Agent].delivered)
		}
	}
}

// placeFits compares where an agent is, and where it returns to.
func (w *walk) placeFits(what string, a *state.Agent, b walker) {
	if a.State != b.at {
		w.f.add("P-1", "%s: the agent %s is at %s, and by the log at %s", what, a.ID, a.State, b.at)
	}
	w.waitFits(what, a, b)
	var stack []string
	for _, frame := range a.Stack {
		stack = append(stack, frame.State)
	}
	if !slices.Equal(stack, b.stack) {
		w.f.add("P-4", "%s: the agent %s returns to %q, and by the log to %q", what, a.ID, stack, b.stack)
	}
}

// agentsFit compares the agents of a saved run, alive and ended, with those of the log.
func (w *walk) agentsFit(what string, run *state.Run, at map[string]walker) {
	alive, ended := map[string]int{}, map[string]int{}
	for _, a := range run.Agents {
		alive[a.ID]++
	}
	for _, e := range run.Ended {
		ended[e.Agent]++
	}
	for _, id := range slices.Sorted(maps.Keys(at)) {
		forgotten := run.Forgotten > 0 && at[id].ended
		n, m := alive[id], ended[id]
		if n+m != 1 && !(forgotten && n+m == 0) || (m == 1) != at[id].ended && !forgotten {
			w.f.add("P-3", "%s: the agent %s is there %d times and ended %d times, by the log it has ended: %v", what, id, n, m, at[id].ended)
		}
		delete(alive, id)
		delete(ended, id)
	}
	if len(alive)+len(ended) > 0 {
		w.f.add("P-3", "%s: no fork made %v %v", what, slices.Sorted(maps.Keys(alive)), slices.Sorted(maps.Keys(ended)))
	}
	if run.Progress.Created != len(at) {
		w.f.add("P-3", "%s: %d agents were created, and the log has %d", what, run.Progress.Created, len(at))
	}
}
