package report

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// execution is a row of the table of states.
type execution struct {
	n            int
	agent, state string
	kind, model  string
	session      state.SessionMode
	work         stopwatch
	ended        *state.StateFinished // without its texts; nil while it is active
	attempts     int
	retries      int
	reminders    int
	move         string // the first
	moves        int
}

// isActive reports whether an execution is being worked on.
func (x *execution) isActive() bool { return x.ended == nil && !x.work.isPaused }

// executions are the state executions of a run: the first ones, the last ones, and
// the sums of all.
type executions struct {
	begun   int
	first   []*execution
	last    recent[*execution]
	active  map[string]*execution // the last of each agent that has no result
	byState map[string]*stateSum
	sums    []*stateSum // in the order in which the states first ran
}

// begin adds an execution.
func (xs *executions) begin(e state.Event, b *state.StateStarted) *execution {
	xs.begun++
	xs.sum(e.State).runs++
	x := &execution{
		n: xs.begun, agent: e.Agent, state: e.State, kind: b.Kind, model: b.Model, session: b.Session,
		work: stopwatch{began: e.Time, resumed: e.Time}, attempts: b.Attempt,
	}
	xs.active[e.Agent] = x
	if len(xs.first) < maxFirst {
		xs.first = append(xs.first, x)
	} else {
		xs.last.add(x)
	}
	return x
}

// repeat reports whether an execution that begins was interrupted by the end of a part
// of the run. Its row continues then.
func (xs *executions) repeat(e state.Event) bool {
	x := xs.active[e.Agent]
	if x == nil || !x.work.isPaused || x.state != e.State {
		return false
	}
	x.work.resume(e.Time)
	x.work.isRepeated = true
	return true
}

// pause marks what was active when the run stopped.
func (xs *executions) pause(at time.Time) {
	for _, x := range xs.active {
		if x.ended == nil {
			x.work.pause(at)
		}
	}
}

// pauseOf pauses the execution of an agent that waits for another job in the middle of it.
func (xs *executions) pauseOf(e state.Event) {
	if x := xs.active[e.Agent]; x != nil && x.ended == nil {
		x.work.pause(e.Time)
	}
}

// resumed returns the last execution of an agent, nil for none. If that was paused, the
// part of the run that began at the given time has resumed it without a StateStarted:
// a reminder or a verdict was pending.
func (xs *executions) resumed(agent string, at time.Time) *execution {
	x := xs.active[agent]
	if x != nil {
		x.work.resume(at)
	}
	return x
}

// finish ends an execution, and returns the model that was asked for. The part of
// the run began at the given time.
func (xs *executions) finish(e state.Event, b *state.StateFinished, part time.Time) (model string) {
	short := *b
	short.Denied, short.Refusals, short.Error, short.Models = nil, nil, "", nil
	short.StdoutTail, short.StderrTail = "", ""
	if isExhausted(b) {
		short.Error = exhausted
	}
	if x := xs.resumed(e.Agent, part); x != nil {
		if x.work.isRepeated {
			short.DurationMS += x.work.worked.Milliseconds()
		}
		x.ended, model = &short, x.model
	}
	xs.sum(e.State).add(&short)
	return model
}

func (xs *executions) move(agent, to string) {
	if x := xs.active[agent]; x != nil {
		if x.moves++; x.moves == 1 {
			x.move = to
		}
	}
}

// count counts attempts, retries and reminders. The part of the run began at the
// given time.
func (xs *executions) count(e state.Event, part time.Time) {
	x := xs.resumed(e.Agent, part)
	if x == nil {
		return
	}
	switch b := e.Body.(type) {
	case *state.Retry:
		if !b.Service {
			x.retries++
		}
	case *state.Reminder:
		x.reminders++
	case *state.NodeAttempt:
		x.attempts = b.Attempt
	}
}

// listActive returns the active executions, the oldest first.
func (xs *executions) listActive() []*execution {
	var all []*execution
	for _, x := range xs.active {
		if x.isActive() {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *execution) int { return a.n - b.n })
	return all
}

// stateSum sums up all executions of a state.
type stateSum struct {
	state      string
	runs       int
	failed     int
	durationMS int64
	cost       state.Spent
}

// sum returns the sum of a state.
func (xs *executions) sum(name string) *stateSum {
	if xs.byState[name] == nil {
		xs.byState[name] = &stateSum{state: name}
		xs.sums = append(xs.sums, xs.byState[name])
	}
	return xs.byState[name]
}

// add counts an execution that ended.
func (s *stateSum) add(b *state.StateFinished) {
	s.durationMS += b.DurationMS
	s.cost = s.cost.Plus(b.Spent())
	if !b.OK {
		s.failed++
	}
}
