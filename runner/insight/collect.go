package insight

import (
	"cmp"
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// The statuses of executions, besides those of runs.
const (
	Running     = "running"
	Interrupted = "interrupted"
	Completed   = "completed"
	Failed      = "failed"
)

// collector puts a report together from events, which come in order.
type collector struct {
	seq     int
	now     time.Time // of the last event
	execs   map[int]*Exec
	texts   texts
	agents  agents
	waits   waits
	parts   parts
	limits  []Limit
	total   state.USD // spent so far
	outcome string
}

func newCollector() *collector {
	return &collector{
		execs: map[int]*Exec{}, agents: agents{byID: map[string]*Agent{}},
		waits: waits{all: []Wait{}, open: map[string]int{}}, parts: parts{all: []Part{}}, limits: []Limit{},
	}
}

// add takes the next event. One that has come before is passed over.
func (c *collector) add(e state.Event) {
	if e.Seq <= c.seq {
		return
	}
	c.seq = e.Seq
	n := e.Exec
	c.parts.add(e, c.now)
	if e.Time.After(c.now) {
		c.now = e.Time
	}
	switch b := e.Body.(type) {
	case *state.Limit:
		c.limits = append(c.limits, Limit{Time: e.Time, Exec: n, Which: b.Which, Value: b.Value, Max: b.Max})
	case *state.RunFinished:
		c.outcome, c.total = b.Outcome, max(c.total, b.CostUSD)
		for i := range b.Unfinished {
			c.unfinished(&b.Unfinished[i])
		}
	}
	if e.Agent == "" {
		return
	}
	c.agents.add(e)
	c.waits.add(e)
	if n > 0 {
		c.addTo(c.exec(n, e), e)
	}
}

// exec returns the execution of a number, which may be new: what came before may be in no log.
func (c *collector) exec(n int, e state.Event) *Exec {
	x := c.execs[n]
	if x == nil {
		x = &Exec{N: n, Agent: e.Agent, State: e.State, Started: e.Time, Status: Running}
		c.execs[n] = x
	}
	return x
}

// start begins an execution, or one that was cut off and is repeated.
func (x *Exec) start(b *state.StateStarted) {
	x.Kind, x.Status, x.Ended, x.Error = b.Kind, Running, time.Time{}, ""
	x.Mode, x.SessionID, x.Model, x.Cwd = string(b.Session), b.SessionID, b.Model, b.Cwd
}

// unfinished takes what an execution has cost that did not end with its part of the run.
func (c *collector) unfinished(u *state.Unfinished) {
	for _, x := range c.execs {
		if x.Agent == u.Agent && x.State == u.State && x.Ended.IsZero() {
			x.Spent.Spent, x.Models = u.Spent(), u.Models
		}
	}
}

// addTo takes an event of an execution.
func (c *collector) addTo(x *Exec, e state.Event) {
	switch b := e.Body.(type) {
	case *state.StateStarted:
		x.start(b)
	case *state.AgentOutput:
		x.Output = append(x.Output, b.Text)
		c.texts.grow(x, len(b.Text))
	case *state.Reminder:
		x.Reminders = append(x.Reminders, Moment{Time: e.Time, Text: b.Reason})
		c.texts.grow(x, len(b.Reason))
	case *state.Retry:
		x.Retries = append(x.Retries, Moment{Time: e.Time, Text: b.Error, BackoffMS: b.BackoffMS})
		c.texts.grow(x, len(b.Error))
	case *state.NodeAttempt:
		x.Attempts = append(x.Attempts, Attempt{Ended: e.Time, NodeAttempt: *b})
		for _, result := range b.Results {
			c.texts.grow(x, len(result.Tail)+len(result.Cmd))
		}
	case *state.AttemptInterrupted:
		x.Interruptions = append(x.Interruptions, Moment{Time: e.Time, Text: fmt.Sprintf("attempt %d: %s", b.Attempt, b.Reason)})
	case *state.StateFinished:
		c.finish(x, e, b)
	case *state.Transition:
		x.Transition = b
	}
}

// finish ends an execution.
func (c *collector) finish(x *Exec, e state.Event, b *state.StateFinished) {
	c.total += max(0, b.CostUSD-x.Spent.USD)
	x.Status, x.Ended, x.Error, x.Total = Completed, e.Time, b.Error, c.total
	if !b.OK {
		x.Status = Failed
	}
	x.Spent, x.Models, x.Turns, x.AgentCLI = Spent{b.Spent(), b.Tokens}, b.Models, b.Turns, b.CLI
	x.SessionID = cmp.Or(b.SessionID, x.SessionID)
	x.Refusals, x.ExitCode, x.Signal = b.Refused(), b.ExitCode, b.Signal
	x.Stdout, x.Stderr = b.StdoutTail, b.StderrTail
	c.texts.grow(x, len(b.StdoutTail)+len(b.StderrTail)+len(b.Error))
}

// addRun takes what the state file has beyond the events: executions that have not ended,
// and agents of which the log does not tell, as those that a run was begun with again.
func (c *collector) addRun(run *state.Run, hide func(string) string) {
	for _, a := range run.Agents {
		c.agents.addState(a, hide)
		if a.Exec == nil {
			continue
		}
		x := c.execs[a.Exec.Iteration]
		e := a.Exec
		if x == nil { // of a run that was begun again from there
			x = &Exec{N: e.Iteration, Agent: a.ID, State: a.State, Started: e.Started, Status: Running, Kind: kindOf(e)}
			c.execs[x.N] = x
		}
		if !x.Ended.IsZero() {
			continue
		}
		x.Spent = Spent{e.Spent, e.Tokens}
		x.Models, x.Turns = e.Models, e.Turns
		if e.Session != nil {
			x.SessionID = cmp.Or(e.Session.ID, x.SessionID)
		}
	}
	for _, ended := range run.Ended {
		c.agents.addEnding(ended, hide)
	}
}

// kindOf tells a prompt, which has a conversation, from a script.
func kindOf(e *state.Exec) string {
	if e.Session != nil || e.Running != nil && e.Running.SessionID != "" {
		return "prompt"
	}
	return "script"
}
