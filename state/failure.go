package state

import "time"

// Class is the kind of a failure. It decides what follows from it.
type Class string

// The classes of failure.
const (
	// Transient failures are retried: the process died or brought no result, or the
	// network was not set up.
	Transient Class = "transient"
	// Service failures are temporary failures of the model's service: overload, a rate
	// limit, a broken connection. They are waited out and not counted as retries.
	Service Class = "service"
	// TimedOut failures are retried for prompts, and fatal for scripts.
	TimedOut Class = "timeout"
	// Fatal failures fail the agent at once: authentication, billing, a bad
	// request, an unknown model, a refusal, a lost session, a failing script.
	Fatal Class = "fatal"
	// Machine failures are fatal too, and end with the exit code of class runtime:
	// the agent CLI is missing or too old.
	Machine Class = "runtime"
	// Denied failures are fatal too, and end with the exit code of that class: whoever
	// drives the run does not run this state.
	Denied Class = "denied"
	// UsageLimit suspends the run until Failure.Reset.
	UsageLimit Class = "usage_limit"
	// BudgetSpent ends the run over_budget; the session can be continued.
	BudgetSpent Class = "over_budget"
	// Stopped invocations were ended because their context was done.
	Stopped Class = "stopped"
)

// Failure is why an invocation brought no usable answer. It is an error, so that
// backends can return it.
type Failure struct {
	Class   Class
	Message string    // one line, lower case; names exit code or signal where there is one
	Reset   time.Time // UsageLimit: when it ends; zero when unknown
	// NotBefore is until when a Service asked not to be asked again; zero when it
	// did not, or nobody knows.
	NotBefore time.Time
	// NotStarted says that no process of the agent CLI ever ran.
	NotStarted bool
	// Continue says that the session has the work so far and can be continued.
	Continue bool
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }
