package invarianttest

import (
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// place is a state that an agent was in.
type place struct{ agent, state string }

func (e Effect) place() place { return place{e.Agent, e.State} }

// ran counts how often agents and scripts ran at each place.
func ran(effects []Effect) map[place]int {
	n := map[place]int{}
	for _, e := range effects {
		if !e.Verifies {
			n[e.place()]++
		}
	}
	return n
}

// announced counts the invocations at each place that the log has after an event.
func announced(events []state.Event, after int) map[place]int {
	n := map[place]int{}
	p := pending{cut: map[place]bool{}, open: map[place]bool{}, failed: map[place]bool{}, reopened: map[place]bool{}, continued: map[place]bool{}}
	for _, e := range events {
		at := place{e.Agent, e.State}
		more := p.unannounced(e, at) + p.announces(e, at)
		if e.Seq > after {
			n[at] += more
		}
	}
	return n
}

// pending is what the log says of executions that have not ended well.
type pending struct {
	cut       map[place]bool // interrupted, and not begun again
	open      map[place]bool // begun, and not ended
	failed    map[place]bool
	reopened  map[place]bool // had failed, and the run was resumed since
	continued map[place]bool // was open when a part of the run ended in order, and the run was resumed since
	closed    bool           // this part of the run has ended in order
}

// unannounced counts invocations that come without a begin of their own: what failed or
// was stopped in the middle may go on after a resume. Only the next event of it tells.
func (p *pending) unannounced(e state.Event, at place) int {
	_, begins := e.Body.(*state.StateStarted)
	_, interrupted := e.Body.(*state.AttemptInterrupted)
	more := 0
	if p.reopened[at] && !begins || p.continued[at] && !begins && !interrupted {
		more = 1
	}
	delete(p.reopened, at)
	delete(p.continued, at)
	return more
}

// announces counts the invocations that an event announces.
func (p *pending) announces(e state.Event, at place) int {
	switch b := e.Body.(type) {
	case *state.RunStarted:
		maps.Copy(p.reopened, p.failed)
		clear(p.failed)
		if p.closed {
			maps.Copy(p.continued, p.open)
		}
		p.closed = false
	case *state.RunFinished:
		p.closed = true
	case *state.StateStarted:
		begun := !p.cut[at]
		p.open[at], p.cut[at] = true, false
		if begun {
			return 1
		}
	case *state.AttemptInterrupted:
		p.cut[at] = true
		return 1
	case *state.StateFinished:
		delete(p.open, at)
		delete(p.cut, at)
		if !b.OK {
			p.failed[at] = true
		}
	case *state.Retry, *state.Reminder:
		return 1
	case *state.AgentGoesOn:
		if p.open[at] { // after a usage limit, in the middle of a state
			return 1
		}
	case *state.NodeAttempt:
		if !b.Converged {
			return 1
		}
	}
	return 0
}

// repeats checks what was really done: nothing that the log doesn't announce, nothing
// less than it says is done, and nothing again of what was committed.
func (f *findings) repeats(l Left) {
	all := ran(l.Effects)
	may := announced(l.Events, 0)
	for at, n := range all {
		if n > may[at] {
			f.add("P-2", "%s ran %d times at %s, and the log announces %d", at.agent, n, at.state, may[at])
		}
	}
	f.undone(l, all)
	for i, rest := range l.Rests {
		if rest.Effects <= len(l.Effects) {
			f.afterRest(i, l, rest)
		}
	}
	f.payloads(l)
}

// undone reports what the log has as done and nobody did, at places where all that
// is done leaves an effect.
func (f *findings) undone(l Left, all map[place]int) {
	leaves := map[string]bool{}
	for at := range all {
		leaves[at.state] = true
	}
	done := map[place]int{}
	for _, e := range l.Events {
		if b, ok := e.Body.(*state.StateFinished); ok && b.OK {
			done[place{e.Agent, e.State}]++
		}
	}
	for at, n := range done {
		if leaves[at.state] && all[at] < n {
			f.add("P-1", "%s ended %s %d times, and ran %d times there", at.agent, at.state, n, all[at])
		}
	}
}

// afterRest reports what was done again after a rest though it was committed by then.
func (f *findings) afterRest(i int, l Left, rest Rest) {
	seq := 0
	if rest.Run != nil {
		seq = rest.Run.Progress.Events
	}
	before, may := ran(l.Effects[:rest.Effects]), announced(l.Events, seq)
	for at, n := range ran(l.Effects[rest.Effects:]) {
		if before[at] > 0 && n > may[at]+underWay(rest.Run, at) {
			f.add("P-1", "after rest %d, %s ran %d times at %s, which was committed", i+1, at.agent, n, at.state)
		}
	}
}

// underWay returns how often an agent may still run at a place by what was announced
// before its run came to rest: what was killed may end a moment later, and an attempt or
// a retry may wait for its time. When only its commands were under way, the interruption
// that the log will tell is none of its own.
func underWay(run *state.Run, at place) int {
	if run == nil {
		return 1
	}
	i := slices.IndexFunc(run.Agents, func(a *state.Agent) bool { return a.ID == at.agent })
	if i < 0 || run.Agents[i].State != at.state || run.Agents[i].Exec == nil {
		return 0
	}
	switch e := run.Agents[i].Exec; {
	case e.Phase == state.PhaseAgent:
		return 1
	case e.Running != nil:
		return -1
	}
	return 0
}

// payloads compares what each invocation was given and left with an undisturbed run.
func (f *findings) payloads(l Left) {
	if l.Whole == nil {
		return
	}
	known := map[place][]string{}
	for _, e := range l.Whole {
		known[e.place()] = append(known[e.place()], e.Line)
	}
	for _, e := range l.Effects {
		if !slices.Contains(known[e.place()], e.Line) {
			f.add("P-4", "%s at %s was given something else: got %s, want one of %q", e.Agent, e.State, e.Line, known[e.place()])
		}
	}
	if l.Run == nil || l.Run.Progress.Status != state.Completed {
		return
	}
	all := ran(l.Effects)
	for at := range known {
		if all[at] == 0 {
			f.add("P-4", "nothing arrived at %s of %s", at.state, at.agent)
		}
	}
}
