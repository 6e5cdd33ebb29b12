package insight

import (
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// waits are the times in which agents waited, in the order in which they began.
type waits struct {
	all  []Wait
	open map[string]int // the index of the wait of each agent that waits
}

// add takes an event of an agent.
func (w *waits) add(e state.Event) {
	switch b := e.Body.(type) {
	case *state.AgentWaits:
		w.end(e.Agent, e.Time, "")
		w.begin(Wait{Agent: e.Agent, State: e.State, For: string(b.For), From: e.Time, Job: b.Job, Number: b.Number, Question: b.Question})
	case *state.AgentGoesOn:
		w.end(e.Agent, e.Time, b.By)
	case *state.Retry:
		w.end(e.Agent, e.Time, "")
		if b.BackoffMS > 0 {
			w.begin(Wait{Agent: e.Agent, State: e.State, For: "retry", From: e.Time, To: e.Time.Add(time.Duration(b.BackoffMS) * time.Millisecond)})
		}
	case *state.NodeAttempt:
		w.end(e.Agent, e.Time, "")
		if b.BackoffS != nil && *b.BackoffS > 0 {
			began := e.Time.Add(-seconds(b.DurationS))
			w.all = append(w.all, Wait{Agent: e.Agent, State: e.State, For: "retry", From: began.Add(-seconds(*b.BackoffS)), To: began})
		}
	case *state.AgentOutput:
	default:
		w.end(e.Agent, e.Time, "")
	}
}

func (w *waits) begin(wait Wait) {
	w.open[wait.Agent] = len(w.all)
	w.all = append(w.all, wait)
}

// end ends the wait of an agent, if it waits; by is what ended it, "" for what happened to
// the agent otherwise.
func (w *waits) end(agent string, at time.Time, by string) {
	i, ok := w.open[agent]
	if !ok {
		return
	}
	delete(w.open, agent)
	wait := &w.all[i]
	wait.By = by
	if wait.To.IsZero() || wait.To.After(at) {
		wait.To = at
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// parts are the times in which a process drove the run.
type parts struct{ all []Part }

// add takes an event; last is the time of the one before it.
func (p *parts) add(e state.Event, last time.Time) {
	switch b := e.Body.(type) {
	case *state.RunStarted:
		p.cutOff(last)
		p.all = append(p.all, Part{Started: e.Time})
	case *state.RunFinished:
		if n := len(p.all); n > 0 {
			p.all[n-1].Ended, p.all[n-1].Status, p.all[n-1].Reason = e.Time, string(b.Status), b.Reason
		}
	}
}

// cutOff ends a part whose process was lost.
func (p *parts) cutOff(at time.Time) {
	if n := len(p.all); n > 0 && p.all[n-1].Ended.IsZero() {
		p.all[n-1].Ended, p.all[n-1].Status = at, Interrupted
	}
}
