package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// A history keeps at most this much, so that it stays small whatever the size of
// the run.
const (
	maxFirst     = 50   // executions from the first on
	maxLast      = 150  // executions up to the last
	maxAgents    = 1000 // agents
	maxText      = 8 << 10
	maxResult    = 16 << 10
	maxRefused   = 50 // different refused tool uses of an agent
	maxTools     = 50 // different tools of an agent
	maxIncidents = 20 // retries, reminders and the like of an agent
	maxSaid      = 20 // lines of what an agent said last
)

// history is what a summary knows about a run.
type history struct {
	seq         int // of the last event
	time        timeline
	spent       runCosts
	executions  executions
	agents      agents
	waits       waitList
	checkpoints checkpoints
	result      passage
	cli         string // version and path of the agent CLI, after its name unless it is the default one that ran last
}

func newHistory() history {
	xs := executions{last: recent[*execution]{limit: maxLast}, active: map[string]*execution{}, byState: map[string]*stateSum{}}
	return history{executions: xs, agents: agents{byID: map[string]*agent{}}, spent: runCosts{byModel: modelCosts{}}}
}

// checkpoints are the last checkpoint that was stored, and the last that could not
// be.
type checkpoints struct {
	stored, failed *state.Checkpoint // nil for none
	at             time.Time         // when the one was stored
}

func (c *checkpoints) add(b *state.Checkpoint, at time.Time) {
	if b.Error != "" {
		c.failed = b
		return
	}
	c.stored, c.at, c.failed = b, at, nil
}

// add takes the next event. It reports whether the event was new: when an earlier
// log was replayed first, some of its events may come again.
func (h *history) add(e state.Event) bool {
	if e.Seq > 0 && e.Seq <= h.seq {
		return false
	}
	h.seq = max(h.seq, e.Seq)
	last := h.time.now
	if e.Time.After(last) {
		h.time.now = e.Time
	}
	if e.Agent == "" {
		h.addRun(e, last)
	} else {
		h.addAgent(e, h.agents.of(e))
	}
	return true
}

// addRun takes an event about the run; last is the time of the event before it.
func (h *history) addRun(e state.Event, last time.Time) {
	switch b := e.Body.(type) {
	case *state.RunStarted:
		if h.time.wasKilled() {
			h.executions.pause(last)
		}
		if !h.isHeldUp() {
			h.agents.restartFailed()
		}
		h.time.open(b, e.Time, last)
		h.checkpoints.failed, h.result = nil, passage{}
	case *state.RunFinished:
		h.time.end(b)
		h.spent.end(b)
		h.setUnfinished(b.Unfinished)
		h.result = passage{}
		if b.Result != nil {
			h.result = newPassage(string(*b.Result), maxResult)
		}
		h.executions.pause(h.time.now)
	case *state.Checkpoint:
		h.checkpoints.add(b, e.Time)
	case *state.Limit:
		if b.Which == "budget" {
			h.spent.atLimit = b.Spent()
		}
	}
}

// isHeldUp reports whether agents wait for something that comes from outside of a run that
// was suspended. A resume leaves agents alone then that have failed.
func (h *history) isHeldUp() bool {
	end := h.time.ending
	return end != nil && end.Status == state.Suspended &&
		slices.ContainsFunc(h.waits.all, func(w Wait) bool { return w.For != state.ForAgents })
}

// setUnfinished replaces what is known of the costs of executions that did not end.
func (h *history) setUnfinished(all []state.Unfinished) {
	for _, a := range h.agents.all {
		a.costs.takeUnfinished()
	}
	for i := range all {
		u := &all[i]
		if a := h.agents.byID[u.Agent]; a != nil {
			a.costs.unfinished = &unfinished{u, cmp.Or(h.executions.active[u.Agent], a.last)}
		}
	}
}

// addAgent takes an event about an agent.
func (h *history) addAgent(e state.Event, a *agent) {
	ended := h.waits.add(e)
	switch b := e.Body.(type) {
	case *state.AgentStarted:
		a.parent, a.state = b.Parent, e.State
	case *state.StateStarted:
		h.begin(e, b, a)
	case *state.StateFinished:
		h.finish(e, b, a)
	case *state.Transition:
		a.moveTo(b)
		h.executions.move(e.Agent, a.move)
	case *state.AgentFinished:
		a.finish(e, b)
		if b.Error == "" {
			delete(h.executions.active, e.Agent)
		}
	case *state.AgentWaits:
		a.state, a.status = e.State, isWaiting
		h.executions.pauseOf(e)
	case *state.AgentGoesOn:
		a.endWait(e, b.By, ended)
	case *state.AttemptInterrupted:
		a.note(e, b)
	default:
		a.note(e, e.Body)
		h.executions.count(e, h.time.began)
	}
}

// begin takes the beginning of an execution, or of one that a later part of the
// run repeats because it was interrupted.
func (h *history) begin(e state.Event, b *state.StateStarted, a *agent) {
	a.state, a.status = e.State, isWorking
	if h.executions.repeat(e) {
		return
	}
	a.last = h.executions.begin(e, b)
	a.verdicts.begin(b.Attempt)
	a.failure, a.result = failure{}, passage{}
	a.runs++
}

func (h *history) finish(e state.Event, b *state.StateFinished, a *agent) {
	h.spent.since = h.spent.since.Plus(b.Spent().Minus(a.costs.takeUnfinished()))
	a.costs.ended = a.costs.ended.Plus(b.Spent())
	a.tools.refuse(b.Refused())
	a.failure.outputs = outputsOf(b)
	h.cli = cmp.Or(b.CLI, h.cli)
	if !b.OK && !isExhausted(b) {
		a.fail(e, b.Error)
	}
	model := h.executions.finish(e, b, h.time.began)
	h.spent.byModel.book(b.Spent(), b.Models, model)
	a.costs.byModel.book(b.Spent(), b.Models, model)
}

// exhausted is how the error of a state begins that has no attempts left.
const exhausted = "max_ralph_iters_reached"

// isExhausted reports whether a state has no attempts left. The workflow decides
// whether its agent fails then, so a later event tells.
func isExhausted(b *state.StateFinished) bool { return strings.HasPrefix(b.Error, exhausted) }
