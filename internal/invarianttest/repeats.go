package invarianttest

import (
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
		if !e.IsVerification {
			n[e.place()]++
		}
	}
	return n
}

// announced counts the invocations at each place that the log has after an event.
func announced(events []state.Event, after int) map[place]int {
	n, known, closed := map[place]int{}, map[place]*pending{}, false
	for _, e := range events {
		at := place{e.Agent, e.State}
		if known[at] == nil {
			known[at] = &pending{}
		}
		switch b := e.Body.(type) {
		case *state.RunStarted:
			for _, p := range known {
				p.resume(closed)
			}
			closed = false
		case *state.RunFinished:
			closed = true
		default:
			if more := known[at].takes(b); e.Seq > after {
				n[at] += more
			}
		}
	}
	return n
}

// pending is what the log says of an execution that has not ended well.
type pending struct {
	cut       bool // interrupted, and not begun again
	open      bool // begun, and not ended
	failed    bool
	reopened  bool // had failed, and the run was resumed since
	continued bool // was open when a part of the run ended in order, and the run was resumed since
}

// resume takes that the run was resumed, after an end in order or not.
func (p *pending) resume(closed bool) {
	p.reopened, p.failed = p.reopened || p.failed, false
	p.continued = p.continued || closed && p.open
}

// takes counts the invocations that an event announces, and those that come without a begin of their own: what
// failed or was stopped in the middle may go on after a resume. Only the next event of it tells.
func (p *pending) takes(body state.Body) int {
	_, begins := body.(*state.StateStarted)
	_, interrupted := body.(*state.AttemptInterrupted)
	n := 0
	if p.reopened && !begins || p.continued && !begins && !interrupted {
		n++
	}
	p.reopened, p.continued = false, false
	if p.announces(body) {
		n++
	}
	return n
}

// announces reports whether an event announces an invocation.
func (p *pending) announces(body state.Body) bool {
	switch b := body.(type) {
	case *state.StateStarted:
		begun := !p.cut
		p.open, p.cut = true, false
		return begun
	case *state.AttemptInterrupted:
		p.cut = true
		return true
	case *state.StateFinished:
		p.open, p.cut, p.failed = false, false, p.failed || !b.OK
	case *state.Retry, *state.Reminder:
		return true
	case *state.AgentGoesOn:
		return p.open // after a usage limit, in the middle of a state
	case *state.NodeAttempt:
		return !b.Converged
	}
	return false
}

// repeats checks what was really done: nothing that the log doesn't announce, nothing
// less than it says is done, and nothing again of what was committed.
func (f *findings) repeats(l Evidence) {
	all := ran(l.Effects)
	may := announced(l.Events, 0)
	for at, n := range all {
		if n > may[at] {
			f.add("P-2", "%s ran %d times at %s, and the log announces %d", at.agent, n, at.state, may[at])
		}
	}
	f.undone(l, all)
	for i, rest := range l.IdleMoments {
		if rest.Effects <= len(l.Effects) {
			f.afterRest(i, l, rest)
		}
	}
	f.payloads(l)
}

// undone reports what the log has as done and nobody did, at places where all that
// is done leaves an effect.
func (f *findings) undone(l Evidence, all map[place]int) {
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
func (f *findings) afterRest(i int, l Evidence, rest IdleMoment) {
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
func (f *findings) payloads(l Evidence) {
	if l.Undisturbed == nil {
		return
	}
	known := map[place][]string{}
	for _, e := range l.Undisturbed {
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
