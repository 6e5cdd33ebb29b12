package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// The statuses of executions and agents, besides those of runs.
const (
	Running     = "running"
	Interrupted = "interrupted"
	Completed   = "completed"
	Failed      = "failed"

	agentWaits = "waiting"
	agentEnded = "ended"
)

// Segment is a time in which a process drove the run.
type Segment struct {
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended,omitzero"`
	Status     string    `json:"status,omitempty"` // in which it stopped
	Reason     string    `json:"reason,omitempty"`
	DurationMS int64     `json:"duration_ms,omitempty"`
}

// Agent is a thread of the run: a row of the timeline.
type Agent struct {
	ID         string            `json:"id"`
	Parent     string            `json:"parent,omitempty"`
	State      string            `json:"state,omitempty"` // where it is, or was last
	Status     string            `json:"status"`          // running, waiting, failed, ended
	Vars       map[string]string `json:"vars,omitempty"`
	Result     string            `json:"result,omitempty"`
	Error      string            `json:"error,omitempty"`
	Spent      Spent             `json:"spent"`
	Executions int               `json:"executions,omitempty"` // begun

	last      *Exec // the newest
	move      *state.Transition
	hasResult bool
	ended     Spent // in executions that ended
	talk      talk
}

// open returns the execution that has not ended, nil for none.
func (a *Agent) open() *Exec {
	if !a.last.isOpen() {
		return nil
	}
	return a.last
}

// setUnfinished takes what its open execution has cost so far.
func (a *Agent) setUnfinished(spent state.Spent, models map[string]state.USD) {
	if x := a.open(); x != nil {
		x.Spent.Spent, x.Models = spent, models
		a.Spent = a.ended.Plus(x.Spent)
	}
}

func (a *Agent) fail(e state.Event, fault string) {
	a.State, a.Status, a.Error = e.State, Failed, state.DescribeFailure(fault, a.last.verdict())
}

func (a *Agent) finish(e state.Event, b *state.AgentFinished) {
	if b.Error != "" {
		a.fail(e, b.Error)
		return
	}
	a.Status = agentEnded
	if b.Result != nil {
		a.Result, a.hasResult = string(*b.Result), true
	}
}

func (a *Agent) moveTo(b *state.Transition) {
	a.move = b
	if b.Tag == "fork" {
		a.State = b.Next
	} else if b.Target != "" {
		a.State = b.Target
	}
}

// Exec is one state execution: a row of the table, a bar of the timeline, and a section of
// the page.
type Exec struct {
	N       int       `json:"exec"`
	Agent   string    `json:"agent"`
	State   string    `json:"state"`
	Kind    string    `json:"kind"`   // prompt or script
	Status  string    `json:"status"` // completed, failed, interrupted, running
	Error   string    `json:"error,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// DurationMS is how long it was worked on, without the time between the parts of the run.
	DurationMS int64 `json:"duration_ms,omitempty"`
	Spent      Spent `json:"spent"`
	// Total is what the run had cost when it ended.
	Total  state.USD            `json:"total_usd"`
	Models map[string]state.USD `json:"models,omitempty"`

	AgentCLI   string            `json:"agent_cli,omitempty"`
	Backend    string            `json:"-"` // the name of the agent CLI, where it was begun or resumed in this process
	Model      string            `json:"model,omitempty"`
	SessionID  string            `json:"session_id,omitempty"`
	Mode       string            `json:"session,omitempty"` // fresh, resume, branch
	Cwd        string            `json:"cwd,omitempty"`
	Turns      int               `json:"turns,omitempty"`
	Transition *state.Transition `json:"transition"` // the last one; nil while there is none
	Reminders  []TimedNote       `json:"reminders,omitempty"`
	Retries    []TimedNote       `json:"retries,omitempty"`
	// Interruptions are the times at which an attempt was cut off and then repeated.
	Interruptions []Interruption  `json:"interruptions,omitempty"`
	Attempts      []Attempt       `json:"attempts,omitempty"`
	Refusals      []state.Refusal `json:"refusals,omitempty"`
	ExitCode      *int            `json:"exit_code,omitempty"`
	Signal        string          `json:"signal,omitempty"`
	Stdout        string          `json:"stdout_tail,omitempty"`
	Stderr        string          `json:"stderr_tail,omitempty"`
	Output        []string        `json:"output,omitempty"` // lines of agent_output events, where there is no transcript

	Messages []runner.Message `json:"messages,omitempty"`
	// Gap is what was left out of Messages; nil when nothing was.
	Gap *Gap `json:"messages_left_out,omitempty"`
	// IsCut says that of the texts above some were left out: lines of output, the output of
	// commands.
	IsCut bool `json:"texts_left_out,omitempty"`
	// Files are nil where there are no snapshots.
	Files    []File `json:"files"`
	IsShared bool   `json:"files_shared,omitempty"` // other agents worked in the folder meanwhile

	work        stopwatch
	isExhausted bool // it has no attempts left
	attempt     int  // the number of the last one
	outages     int  // of the retries, those because the service failed
	first       *state.Transition
	moves       int
}

// Gap is where messages were left out of a conversation.
type Gap struct {
	After    int `json:"after"`    // how many messages come before the gap
	Messages int `json:"messages"` // how many were left out
}

// TimedNote is something that happened in an execution.
type TimedNote struct {
	Time      time.Time `json:"time"`
	Text      string    `json:"text"`
	BackoffMS int64     `json:"backoff_ms,omitempty"`
}

// Interruption is the end of an attempt that was cut off. Its time is that of the resume.
type Interruption struct {
	Time time.Time `json:"time"`
	state.AttemptInterrupted
}

// Attempt is the verdict on one attempt of a state with done_when.
type Attempt struct {
	Ended time.Time `json:"ended"`
	state.NodeAttempt
}

// File is a file that an execution has changed.
type File struct {
	Path   string `json:"path"`   // in the repository, with slashes
	Change string `json:"change"` // added, changed, deleted
	Diff   string `json:"diff,omitempty"`
	Cut    bool   `json:"diff_cut,omitempty"`
}

// Limit is a limit that was reached or nearly so.
type Limit struct {
	Time time.Time `json:"time"`
	Exec int       `json:"exec,omitempty"`
	state.Limit
}

// Text says which limit it was, and how nearly it was reached.
func (l *Limit) Text() string { return limitLine(line{}, &l.Limit).text }

// spent is what an execution has cost so far; nothing for none.
func (x *Exec) spent() state.Spent {
	if x == nil {
		return state.Spent{}
	}
	return x.Spent.Spent
}

// Attempt is the number of its last attempt.
func (x *Exec) Attempt() int { return max(1, x.attempt) }

// verdict is the one on its last attempt; nil for none.
func (x *Exec) verdict() *state.NodeAttempt {
	if x == nil || len(x.Attempts) == 0 {
		return nil
	}
	return &x.Attempts[len(x.Attempts)-1].NodeAttempt
}

// FailedCommand is the one that failed first in its last attempt; nil for none.
func (x *Exec) FailedCommand() *state.CommandResult {
	v := x.verdict()
	if v == nil {
		return nil
	}
	i := slices.IndexFunc(v.Results, func(r state.CommandResult) bool { return r.RC != 0 })
	if i < 0 {
		return nil
	}
	return &v.Results[i]
}

// isOpen reports whether there is an execution that has not ended.
func (x *Exec) isOpen() bool { return x != nil && x.Status == Running }

// isActive reports whether an execution is being worked on.
func (x *Exec) isActive() bool { return x.isOpen() && !x.work.isPaused }

func (x *Exec) start(b *state.StateStarted) {
	x.Kind, x.Mode, x.SessionID, x.Model, x.Cwd = b.Kind, string(b.Session), b.SessionID, b.Model, b.Cwd
	x.Backend = cmp.Or(b.Backend, x.Backend)
}

// note takes what happens while it is worked on. It reports whether something is done again.
func (x *Exec) note(e state.Event) (isAgain bool) {
	switch b := e.Body.(type) {
	case *state.Reminder:
		x.Reminders = append(x.Reminders, TimedNote{Time: e.Time, Text: b.Reason})
	case *state.Retry:
		x.Retries = append(x.Retries, TimedNote{Time: e.Time, Text: b.Error, BackoffMS: b.BackoffMS})
		if b.Service {
			x.outages++
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

func (x *Exec) finish(e state.Event, b *state.StateFinished) {
	x.Status, x.Ended, x.Error, x.DurationMS = Completed, e.Time, state.DescribeFailure(b.Error, x.verdict()), b.DurationMS
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

func (x *Exec) moveTo(b *state.Transition) {
	x.Transition = b
	if x.moves++; x.moves == 1 {
		x.first = b
	}
}

// stopwatch measures how long an execution was worked on.
type stopwatch struct {
	resumed    time.Time     // when the work on it last began
	worked     time.Duration // before that
	isPaused   bool          // the run stopped before the execution ended
	isRepeated bool          // a later part of the run began it once more
}

func (s *stopwatch) pause(at time.Time) {
	if !s.isPaused {
		s.worked += max(0, at.Sub(s.resumed))
		s.isPaused = true
	}
}

func (s *stopwatch) resume(at time.Time) {
	if s.isPaused {
		s.isPaused, s.resumed = false, at
	}
}
