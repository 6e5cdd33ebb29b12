package state

import "time"

// Class is the kind of a failure. It decides what happens next.
type Class string

// The classes of failure.
const (
	// Transient failures are retried: the process died or returned no result, or the network
	// was not set up.
	Transient Class = "transient"
	// Service failures are temporary failures of the model's service: overload, a rate limit, a
	// broken connection. The agent waits for the service; they don't count as retries.
	Service Class = "service"
	// TimedOut failures are retried for prompts, and fatal for scripts.
	TimedOut Class = "timeout"
	// Fatal failures fail the agent at once: authentication, billing, a bad request, an unknown
	// model, a refusal, a lost session, a failing script.
	Fatal Class = "fatal"
	// Machine failures are fatal and end with the exit code of class runtime: the agent CLI is
	// missing or too old.
	Machine Class = "runtime"
	// Denied failures are fatal and end with the exit code of class denied: this process is not
	// allowed to run the state.
	Denied Class = "denied"
	// UsageLimit suspends the run until Failure.Reset.
	UsageLimit Class = "usage_limit"
	// BudgetSpent ends the run over_budget; the conversation can be continued.
	BudgetSpent Class = "over_budget"
	// Stopped invocations were ended because their context was done.
	Stopped Class = "stopped"
)

// Failure is why an invocation returned no usable answer. It is an error, so that backends can
// return it.
type Failure struct {
	Class   Class
	Message string    // one line, lower case; names the exit code or signal if there is one
	Reset   time.Time // UsageLimit: when the limit ends; zero if unknown
	// NotBefore is the time before which the service does not want another request; zero if
	// unknown.
	NotBefore time.Time
	// NotStarted is set if no process of the agent CLI ever ran.
	NotStarted bool
	// Continue is set if the conversation contains the work so far and can be continued.
	Continue bool
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }
