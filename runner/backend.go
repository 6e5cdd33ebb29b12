package runner

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Backend runs one invocation of one agent: a prompt given to an agent CLI, or
// a script.
type Backend interface {
	// Run blocks until the invocation has ended and everything it started is
	// gone. When ctx is done it ends the invocation as Stopping says and returns
	// soon after. It fills in what it knows of the Answer even when it returns
	// an error, which is then a *Failure. It may call tell from any goroutine
	// until it returns.
	Run(ctx context.Context, o Order, tell func(Progress)) (Answer, error)
}

// Sessions tells how long the transcript of a conversation is, so that a later
// retry can cut it back. A backend of prompts implements it.
type Sessions interface {
	// Length returns the size in bytes of the transcript of a session that began
	// in dir, and false when there is none.
	Length(session, dir string) (int64, bool)
	// Usage returns the tokens that the transcript of a session shows from the
	// given byte on, for invocations whose own report is lost. The second value
	// is false when the transcript cannot tell.
	Usage(session, dir string, from int64) (state.Usage, bool)
}

// Order is everything a worker needs for one invocation. It shares no memory
// with the run.
type Order struct {
	Agent string
	State string        // resolved file name
	Kind  protocol.Kind // which backend
	Dir   string        // absolute; the directory to run in
	Env   []string      // RAYMOND_* variables, added to the backend's base environment
	Mark  string        // value of MarkVar in the environment of everything started

	// Prompts.
	Prompt          string // as sent
	Session         state.SessionMode
	SessionID       string // the id to use: chosen by us, or the one to resume
	From            string // Branch: the session to branch from
	Cut             *int64 // Resume: cut the transcript back to this length first; nil: leave it
	Model, Effort   string // "" for the CLI's own
	PermissionMode  string
	SkipPermissions bool
	AllowedTools    []string
	DisallowedTools []string
	BudgetCap       state.USD // 0: none

	// Scripts.
	Script string // absolute path of the private copy

	Timeout time.Duration // 0: none
	Idle    time.Duration // 0: none

	DebugDir string // "" or an existing folder for command.json, stdout, stderr
	Verbose  bool   // tell every line of output
}

// MarkVar is the environment variable by which everything that a run started
// can be found again.
const MarkVar = "RAYMOND_MARK"

// Progress is what a backend tells while an invocation runs. At least one comes
// for every sign of life when Order.Verbose is set.
type Progress struct {
	Text string // what the agent said or which tool it uses, one line
}

// Answer is what an invocation brought.
type Answer struct {
	Text      string // the final message, or the script's stdout
	SessionID string // as reported; "" when nothing was
	Model     string // the model that answered, as reported
	Cost      state.Cost
	Turns     int
	Denied    []string // refused tool uses, as "Tool(input)"
	Notes     []string // for the log: what was odd but no fault
}

// Class says what kind of fault ended an invocation, and so what to do about it.
type Class string

// The classes of failure.
const (
	// Transient faults are tried again: overload, rate limits, network, no
	// result record, the process died.
	Transient Class = "transient"
	// TimedOut invocations are tried again for prompts, fatal for scripts.
	TimedOut Class = "timeout"
	// Fatal faults fail the agent at once: authentication, billing, a bad
	// request, an unknown model, a refusal, a lost session, a failing script.
	Fatal Class = "fatal"
	// Machine faults are Fatal and end with the exit code of class runtime:
	// the agent CLI is missing or too old.
	Machine Class = "runtime"
	// UsageLimit suspends the run until Failure.Reset.
	UsageLimit Class = "usage_limit"
	// OverBudget ends the run over_budget; the session can be continued.
	OverBudget Class = "over_budget"
	// Stopped invocations were ended because ctx was done.
	Stopped Class = "stopped"
)

// Failure is why an invocation brought no usable answer.
type Failure struct {
	Class   Class
	Message string    // one line, lower case; names exit code or signal where there is one
	Reset   time.Time // UsageLimit: when it ends; zero when unknown
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Stopping is the cause (context.Cause) with which the runner ends invocations.
// An invocation is ended with SIGINT, then SIGTERM after Term, then SIGKILL
// after Kill more, then by a sweep of everything that carries its mark.
type Stopping struct {
	Reason string // "cancelled", "deadline"
	Term   time.Duration
	Kill   time.Duration
}

// Error implements error.
func (s *Stopping) Error() string { return s.Reason }
