package state

import "time"

// Class says what kind of fault ended an invocation, and so what to do about it.
type Class string

// The classes of failure.
const (
	// Transient faults are tried again: no result record, the process died, a
	// network that is not set up.
	Transient Class = "transient"
	// Service faults are the moment's and the model's service's: overload, a rate
	// limit, a connection that broke. They are waited out, without being counted.
	Service Class = "service"
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
	// BudgetSpent ends the run over_budget; the session can be continued.
	BudgetSpent Class = "over_budget"
	// Stopped invocations were ended because ctx was done.
	Stopped Class = "stopped"
)

// Failure is why an invocation brought no usable answer.
type Failure struct {
	Class   Class
	Message string    // one line, lower case; names exit code or signal where there is one
	Reset   time.Time // UsageLimit: when it ends; zero when unknown
	// NotBefore is until when a Service asked not to be asked again; zero when it
	// did not, or nobody knows.
	NotBefore time.Time
	// NotStarted says that no process of the agent CLI ever ran.
	NotStarted bool
	// Continue says that the session holds the work so far and can go on.
	Continue bool
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }
