package invarianttest

import (
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// place is an agent together with a state in which it ran.
type place struct{ agent, state string }

// place returns the agent and the state that produced the effect.
func (e Effect) place() place { return place{e.Agent, e.State} }

// runCounts returns how often each agent ran in each state. It does not count done_when commands.
func runCounts(effects []Effect) map[place]int {
	n := map[place]int{}
	for _, e := range effects {
		if !e.IsVerification {
			n[e.place()]++
		}
	}
	return n
}

// announced returns, for each agent and state, how many invocations the log announces. It ignores events
// whose number is not larger than the number after.
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
				p.reopened, p.failed = p.reopened || p.failed, false
				p.continued = p.continued || closed && p.open
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

// pending describes the executions of an agent in a state, according to the log.
type pending struct {
	cut       bool // an execution was interrupted and has not started again
	open      bool // an execution has started and has not ended
	failed    bool // the last execution failed
	reopened  bool // the last execution had failed before the run was resumed
	continued bool // an execution was open when a segment ended regularly, before the run was resumed
}

// invocations updates p for an event, and returns how many invocations the event reveals. It counts the invocation that the event
// announces. It also counts an invocation that a resume started without an event, to continue an
// execution that had failed or had been stopped. Only the next event of that execution reveals it.
func (p *pending) invocations(body state.Body) int {
	_, begins := body.(*state.StateStarted)
	_, interrupted := body.(*state.AttemptInterrupted)
	n := 0
	if p.reopened && !begins || p.continued && !begins && !interrupted {
		n++
	}
	p.reopened, p.continued = false, false
	isAnnounced := false
	switch b := body.(type) {
	case *state.StateStarted:
		isAnnounced = !p.cut
		p.open, p.cut = true, false
	case *state.AttemptInterrupted:
		isAnnounced, p.cut = true, true
	case *state.StateFinished:
		p.open, p.cut, p.failed = false, false, p.failed || !b.OK
	case *state.Retry, *state.Reminder:
		isAnnounced = true
	case *state.AgentGoesOn:
		isAnnounced = p.open // an open execution continues after a usage limit
	case *state.NodeAttempt:
		isAnnounced = !b.Converged
	}
	if isAnnounced {
		n++
	}
	return n
}

// repeats compares the effects with the log. Every effect must have been announced, every execution that
// succeeded must have left an effect, and committed steps must not have been executed again.
func (f *findings) repeats(ev Evidence) {
	all := runCounts(ev.Effects)
	may := announced(ev.Events, 0)
	for at, n := range all {
		if n > may[at] {
			f.add("P-2", "%s ran %d times at %s, but the log announces %d", at.agent, n, at.state, may[at])
		}
	}
	leaves := map[string]bool{} // states in which some execution left an effect
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
	for i, rest := range ev.IdleMoments {
		if rest.Effects > len(ev.Effects) {
			continue
		}
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
	f.payloads(ev)
}

// underWay returns how many more times an agent may run in a state than the events after the idle moment
// announce. It returns 1 if the agent was executing the state: a killed process may have ended a moment
// later, and an attempt or a retry may still follow. It returns -1 if done_when commands were running,
// because the log then announces their repetition, which is not an invocation of the agent.
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

// payloads compares the line that each invocation wrote with the lines of an undisturbed run. If the run
// completed, it also checks that no invocation is missing.
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
