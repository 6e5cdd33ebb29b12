package invarianttest

import (
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// place is an agent in a state.
type place struct{ agent, state string }

func (e Effect) place() place { return place{e.Agent, e.State} }

// runCounts returns how often each agent ran in each state, without done_when commands.
func runCounts(effects []Effect) map[place]int {
	n := map[place]int{}
	for _, e := range effects {
		if !e.IsVerification {
			n[e.place()]++
		}
	}
	return n
}

// announced returns the number of invocations that the log announces after event number after.
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
			if more := known[at].invocations(b); e.Seq > after {
				n[at] += more
			}
		}
	}
	return n
}

// pending is the state of an execution according to the log, until it ends well.
type pending struct {
	cut       bool // interrupted, and not started again
	open      bool // started, and not ended
	failed    bool
	reopened  bool // it had failed, and the run was resumed
	continued bool // it was open at the orderly end of a segment, and the run was resumed
}

// resume records that the run was resumed. closed is true if the segment before had an orderly end.
func (p *pending) resume(closed bool) {
	p.reopened, p.failed = p.reopened || p.failed, false
	p.continued = p.continued || closed && p.open
}

// invocations returns how many invocations an event shows: the invocation that it announces, and an invocation
// that a resume started without an event, to continue an execution that had failed or been stopped. Only
// the next event of the execution reveals this.
func (p *pending) invocations(body state.Body) int {
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
		return p.open // after a usage limit, within an execution
	case *state.NodeAttempt:
		return !b.Converged
	}
	return false
}

// repeats compares the effects with the log: every effect was announced, everything that ended well left
// an effect, and committed steps were not executed again.
func (f *findings) repeats(ev Evidence) {
	all := runCounts(ev.Effects)
	may := announced(ev.Events, 0)
	for at, n := range all {
		if n > may[at] {
			f.add("P-2", "%s ran %d times at %s, but the log announces %d", at.agent, n, at.state, may[at])
		}
	}
	f.undone(ev, all)
	for i, rest := range ev.IdleMoments {
		if rest.Effects <= len(ev.Effects) {
			f.afterIdle(i, ev, rest)
		}
	}
	f.payloads(ev)
}

// undone reports executions that ended well according to the log but left no effect, in states whose
// executions leave effects.
func (f *findings) undone(ev Evidence, all map[place]int) {
	leaves := map[string]bool{}
	for at := range all {
		leaves[at.state] = true
	}
	done := map[place]int{}
	for _, e := range ev.Events {
		if b, ok := e.Body.(*state.StateFinished); ok && b.OK {
			done[place{e.Agent, e.State}]++
		}
	}
	for at, n := range done {
		if leaves[at.state] && all[at] < n {
			f.add("P-1", "%s ended %s %d times, but ran there %d times", at.agent, at.state, n, all[at])
		}
	}
}

// afterIdle reports steps that were executed again although they had been committed before the idle moment.
func (f *findings) afterIdle(i int, ev Evidence, rest IdleMoment) {
	seq := 0
	if rest.Run != nil {
		seq = rest.Run.Progress.Events
	}
	before, may := runCounts(ev.Effects[:rest.Effects]), announced(ev.Events, seq)
	for at, n := range runCounts(ev.Effects[rest.Effects:]) {
		if before[at] > 0 && n > may[at]+underWay(rest.Run, at) {
			f.add("P-1", "after idle moment %d, %s ran %d times at %s, although that was committed", i+1, at.agent, n, at.state)
		}
	}
}

// underWay returns how often an agent may still run in a state because of an announcement from before the
// idle moment: a killed process may end a moment later, and an attempt or a retry may still be pending.
// If only done_when commands were under way, the interruption in the log announces no invocation: -1.
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

// payloads compares the input and output of each invocation with an undisturbed run.
func (f *findings) payloads(ev Evidence) {
	if ev.Undisturbed == nil {
		return
	}
	known := map[place][]string{}
	for _, e := range ev.Undisturbed {
		known[e.place()] = append(known[e.place()], e.Line)
	}
	for _, e := range ev.Effects {
		if !slices.Contains(known[e.place()], e.Line) {
			f.add("P-4", "%s at %s had other input: got %s, want one of %q", e.Agent, e.State, e.Line, known[e.place()])
		}
	}
	if ev.Run == nil || ev.Run.Progress.Status != state.Completed {
		return
	}
	all := runCounts(ev.Effects)
	for at := range known {
		if all[at] == 0 {
			f.add("P-4", "no result arrived at %s of %s", at.state, at.agent)
		}
	}
}
