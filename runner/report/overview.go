package report

import (
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// Overview collects what a run did, state execution by state execution. It is a
// Reporter, so Replay fills it from a log. The zero Overview is ready to use.
type Overview struct {
	Steps    []Step
	Status   state.Status // "" before the first event
	Reason   string
	CostUSD  state.USD // of the states and attempts told so far; of the run when it has ended
	Parts    int       // 1 and the number of resumes
	Started  time.Time
	Finished time.Time // of the last part; zero while it runs
	Agents   int       // that were started

	open map[string]int // agent → index of its last step
}

// Step is one state execution. An interrupted one and its re-run are one Step.
type Step struct {
	Agent, State, Kind string
	Session            state.SessionMode
	Started            time.Time
	Ended              bool // else it runs, or was cut off
	OK                 bool
	Duration           time.Duration // zero until it ended
	CostUSD            state.USD
	Attempts           int // of a state with done_when; else 1
	Reminders, Retries int
	Denied             []string
	Error              string
	Moves              []state.Transition // several for several forks
}

// Report implements Reporter. It never fails.
func (o *Overview) Report(e state.Event) error {
	switch b := e.Body.(type) {
	case *state.RunStarted:
		o.begin(e)
	case *state.AgentStarted:
		o.Agents++
	case *state.StateStarted:
		o.enter(e, b)
	case *state.RunFinished:
		o.Status, o.Reason, o.CostUSD, o.Finished = b.Status, b.Reason, b.CostUSD, e.Time
	default:
		if i, ok := o.open[e.Agent]; ok {
			o.note(&o.Steps[i], b)
		}
	}
	return nil
}

// Close implements Reporter.
func (o *Overview) Close() error { return nil }

func (o *Overview) begin(e state.Event) {
	o.Parts++
	o.Status, o.Reason, o.Finished = state.Running, "", time.Time{}
	if o.Started.IsZero() {
		o.Started = e.Time
	}
}

func (o *Overview) enter(e state.Event, b *state.StateStarted) {
	if o.open == nil {
		o.open = map[string]int{}
	}
	i, ok := o.open[e.Agent]
	if rerun := ok && !o.Steps[i].Ended && o.Steps[i].State == e.State; rerun {
		o.Steps[i].Session = b.Session
		return
	}
	o.open[e.Agent] = len(o.Steps)
	o.Steps = append(o.Steps, Step{
		Agent: e.Agent, State: e.State, Kind: b.Kind, Session: b.Session, Started: e.Time, Attempts: b.Attempt,
	})
}

// note adds what an event says about a step.
func (o *Overview) note(s *Step, body state.Body) {
	switch b := body.(type) {
	case *state.Reminder:
		s.Reminders++
	case *state.Retry:
		s.Retries++
	case *state.NodeAttempt:
		s.Attempts = max(s.Attempts, b.Attempt)
		s.CostUSD += b.CostUSD
		o.CostUSD += b.CostUSD
	case *state.StateFinished:
		o.CostUSD += b.CostUSD - s.CostUSD
		s.Ended, s.OK, s.Duration = true, b.OK, time.Duration(b.DurationMS)*time.Millisecond
		s.CostUSD, s.Denied, s.Error = b.CostUSD, b.Denied, b.Error
	case *state.Transition:
		s.Moves = append(s.Moves, *b)
	}
}
