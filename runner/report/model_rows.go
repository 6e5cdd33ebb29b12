package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Statuses of executions, agents and segments. A segment that has ended normally has the status of
// the run at that time.
const (
	Running     = "running"
	Interrupted = "interrupted"
	Completed   = "completed"
	Failed      = "failed"

	statusWaiting = "waiting"
	statusEnded   = "ended"
)

// Segment is a period in which one process drove the run.
type Segment struct {
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended,omitzero"`
	Status     string    `json:"status,omitempty"` // of the run at the end of the segment
	Reason     string    `json:"reason,omitempty"`
	DurationMS int64     `json:"duration_ms,omitempty"`
}

// Agent is an agent of the run: a thread that moves from state to state.
type Agent struct {
	ID         string            `json:"id"`
	Parent     string            `json:"parent,omitempty"`
	State      string            `json:"state,omitempty"` // current or last state
	Status     string            `json:"status"`          // running, waiting, failed or ended
	Vars       map[string]string `json:"vars,omitempty"`
	Result     string            `json:"result,omitempty"`
	Error      string            `json:"error,omitempty"`
	Spent      Spent             `json:"spent"`
	Executions int               `json:"executions,omitempty"` // number of executions that have started

	last       *Exec // newest execution
	transition *state.Transition
	hasResult  bool
	ended      Spent // cost of the executions that have ended
	log        agentLog
}

// openExec returns the agent's execution that has not ended, or nil.
func (a *Agent) openExec() *Exec {
	if !a.last.isOpen() {
		return nil
	}
	return a.last
}

// setOpenCost sets the cost so far of the agent's open execution. It does nothing if no execution
// is open.
func (a *Agent) setOpenCost(spent state.Spent, models map[string]state.USD) {
	if x := a.openExec(); x != nil {
		x.Spent.Spent, x.Models = spent, models
		a.Spent = a.ended.Plus(x.Spent)
	}
}

// fail marks the agent as failed in the state of an event.
func (a *Agent) fail(e state.Event, fault string) {
	a.State, a.Status, a.Error = e.State, Failed, state.DescribeFailure(fault, a.last.lastVerdict())
}

// finish records that the agent ended with a result or an error.
func (a *Agent) finish(e state.Event, b *state.AgentFinished) {
	if b.Error != "" {
		a.fail(e, b.Error)
		return
	}
	a.Status = statusEnded
	if b.Result != nil {
		a.Result, a.hasResult = string(*b.Result), true
	}
}

// setTransition records the agent's last transition and the state that it continues with.
func (a *Agent) setTransition(b *state.Transition) {
	a.transition = b
	if b.Tag == "fork" {
		a.State = b.Next
	} else if b.Target != "" {
		a.State = b.Target
	}
}

// Exec is a state execution: one visit of an agent to a state. It is a row in the summary's table,
// and a bar and a section in the HTML report.
type Exec struct {
	N       int       `json:"exec"`
	Agent   string    `json:"agent"`
	State   string    `json:"state"`
	Kind    string    `json:"kind"`   // prompt or script
	Status  string    `json:"status"` // completed, failed, interrupted or running
	Error   string    `json:"error,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// DurationMS is the time that was spent on the execution. It does not include the time between
	// segments.
	DurationMS int64 `json:"duration_ms,omitempty"`
	Spent      Spent `json:"spent"`
	// Total is the cost of the run at the end of the execution.
	Total  state.USD            `json:"total_usd"`
	Models map[string]state.USD `json:"models,omitempty"`

	AgentCLI   string            `json:"agent_cli,omitempty"`
	Backend    string            `json:"-"` // name of the agent CLI; only set if this process started or resumed the execution
	Model      string            `json:"model,omitempty"`
	SessionID  string            `json:"session_id,omitempty"`
	Mode       string            `json:"session,omitempty"` // fresh, resume or branch
	Cwd        string            `json:"cwd,omitempty"`
	Turns      int               `json:"turns,omitempty"`
	Transition *state.Transition `json:"transition"` // last transition, or nil
	Reminders  []TimedNote       `json:"reminders,omitempty"`
	Retries    []TimedNote       `json:"retries,omitempty"`
	// Interruptions are the attempts that were interrupted and then repeated.
	Interruptions []Interruption  `json:"interruptions,omitempty"`
	Attempts      []Attempt       `json:"attempts,omitempty"`
	Refusals      []state.Refusal `json:"refusals,omitempty"`
	ExitCode      *int            `json:"exit_code,omitempty"`
	Signal        string          `json:"signal,omitempty"`
	Stdout        string          `json:"stdout_tail,omitempty"`
	Stderr        string          `json:"stderr_tail,omitempty"`
	Output        []string        `json:"output,omitempty"` // from agent_output events; nil if Messages is set

	Messages []runner.Message `json:"messages,omitempty"`
	// Gap describes where some of the Messages were left out. It is nil if Messages is complete.
	Gap *Gap `json:"messages_left_out,omitempty"`
	// IsCut is set if any of the texts above were left out, for example lines of output.
	IsCut bool `json:"texts_left_out,omitempty"`
	// Files are the files that the execution changed. It is nil if the run has no workspace
	// snapshots.
	Files    []File `json:"files"`
	IsShared bool   `json:"files_shared,omitempty"` // other agents used the directory at the same time

	work            stopwatch
	isExhausted     bool // the execution failed because no attempts were left
	attempt         int  // number of the newest attempt
	serviceRetries  int  // number of retries because the service was unavailable
	firstTransition *state.Transition
	transitionCount int
}

// Gap records where messages were left out of a list, and how many.
type Gap struct {
	After    int `json:"after"`    // number of messages before the gap
	Messages int `json:"messages"` // number of messages left out
}

// TimedNote is a text about something that happened during an execution, such as a retry.
type TimedNote struct {
	Time      time.Time `json:"time"`
	Text      string    `json:"text"`
	BackoffMS int64     `json:"backoff_ms,omitempty"`
}

// Interruption records that an attempt was interrupted. Time is the time at which the run was
// resumed.
type Interruption struct {
	Time time.Time `json:"time"`
	state.AttemptInterrupted
}

// Attempt is an attempt with a verdict, in a state with done_when.
type Attempt struct {
	Ended time.Time `json:"ended"`
	state.NodeAttempt
}

// File is a file that an execution has changed.
type File struct {
	Path   string `json:"path"`   // path in the repository, with slashes
	Change string `json:"change"` // "added", "changed" or "deleted"
	Diff   string `json:"diff,omitempty"`
	Cut    bool   `json:"diff_cut,omitempty"`
}

// Limit records that a limit was reached or almost reached.
type Limit struct {
	Time time.Time `json:"time"`
	Exec int       `json:"exec,omitempty"`
	state.Limit
}

// Text describes the limit and the value that reached it.
func (l *Limit) Text() string { return limitLine(line{}, &l.Limit).text }

// costSoFar returns the cost of an execution so far, or zero if x is nil.
func (x *Exec) costSoFar() state.Spent {
	if x == nil {
		return state.Spent{}
	}
	return x.Spent.Spent
}

// Attempt returns the number of the newest attempt, at least 1.
func (x *Exec) Attempt() int { return max(1, x.attempt) }

// lastVerdict returns the newest verdict on an attempt. It returns nil if no attempt has a verdict,
// or if x is nil.
func (x *Exec) lastVerdict() *state.NodeAttempt {
	if x == nil || len(x.Attempts) == 0 {
		return nil
	}
	return &x.Attempts[len(x.Attempts)-1].NodeAttempt
}

// FailedCommand returns the first failed command of the newest attempt with a verdict, or nil if no
// command failed.
func (x *Exec) FailedCommand() *state.CommandResult {
	v := x.lastVerdict()
	if v == nil {
		return nil
	}
	i := slices.IndexFunc(v.Results, func(r state.CommandResult) bool { return r.RC != 0 })
	if i < 0 {
		return nil
	}
	return &v.Results[i]
}

// isOpen reports whether the execution has not ended. It returns false if x is nil.
func (x *Exec) isOpen() bool { return x != nil && x.Status == Running }

// isActive reports whether the execution is open and not paused.
func (x *Exec) isActive() bool { return x.isOpen() && !x.work.isPaused }

// start records the start of the execution.
func (x *Exec) start(b *state.StateStarted) {
	x.Kind, x.Mode, x.SessionID, x.Model, x.Cwd = b.Kind, string(b.Session), b.SessionID, b.Model, b.Cwd
	x.Backend = cmp.Or(b.Backend, x.Backend)
}

// addEvent records an event within the execution. isAgain is true for a retry, and for the verdict
// on any attempt after the first.
func (x *Exec) addEvent(e state.Event) (isAgain bool) {
	switch b := e.Body.(type) {
	case *state.Reminder:
		x.Reminders = append(x.Reminders, TimedNote{Time: e.Time, Text: b.Reason})
	case *state.Retry:
		x.Retries = append(x.Retries, TimedNote{Time: e.Time, Text: b.Error, BackoffMS: b.BackoffMS})
		if b.Service {
			x.serviceRetries++
		}
		return true
	case *state.NodeAttempt:
		x.Attempts = append(x.Attempts, Attempt{Ended: e.Time, NodeAttempt: *b})
		x.attempt = b.Attempt
		return len(x.Attempts) > 1
	case *state.AttemptInterrupted:
		x.Interruptions = append(x.Interruptions, Interruption{e.Time, *b})
	}
	return false
}

// finish records the end of the execution.
func (x *Exec) finish(e state.Event, b *state.StateFinished) {
	x.Status, x.Ended, x.Error, x.DurationMS = Completed, e.Time, state.DescribeFailure(b.Error, x.lastVerdict()), b.DurationMS
	x.isExhausted, x.attempt = state.IsExhausted(b.Error), max(x.attempt, b.Attempt)
	if !b.OK {
		x.Status = Failed
	}
	if x.work.isRepeated {
		x.DurationMS += x.work.worked.Milliseconds()
	}
	x.Spent, x.Models, x.Turns, x.AgentCLI = Spent{b.Spent, b.Tokens}, b.Models, b.Turns, b.CLI
	if b.SessionID != "" {
		x.SessionID = b.SessionID
	}
	x.Refusals, x.ExitCode, x.Signal = b.AllRefusals(), b.ExitCode, b.Signal
	x.Stdout, x.Stderr = b.StdoutTail, b.StderrTail
}

// addTransition records a transition. An execution that forks has several.
func (x *Exec) addTransition(b *state.Transition) {
	x.Transition = b
	if x.transitionCount++; x.transitionCount == 1 {
		x.firstTransition = b
	}
}

// stopwatch measures the time that was spent on an execution.
type stopwatch struct {
	resumed    time.Time     // start of the current period of work
	worked     time.Duration // total duration of the earlier periods
	isPaused   bool          // the stopwatch is stopped, because the run stopped or the agent waits
	isRepeated bool          // a later segment of the run started the execution again
}

// pause stops the stopwatch at the given time, unless it is stopped.
func (s *stopwatch) pause(at time.Time) {
	if !s.isPaused {
		s.worked += max(0, at.Sub(s.resumed))
		s.isPaused = true
	}
}

// resume starts a stopped stopwatch at the given time.
func (s *stopwatch) resume(at time.Time) {
	if s.isPaused {
		s.isPaused, s.resumed = false, at
	}
}
