package state

import "time"

// Class is the kind of a failure. It decides how the agent continues.
type Class string

// The classes of failure.
const (
	// Transient failures are retried: the process crashed or returned no result, or the network could not
	// be set up.
	Transient Class = "transient"
	// Service failures are temporary failures of the model's service: an overload, a rate limit or a
	// broken connection. The agent waits for the service. These failures don't count as retries.
	Service Class = "service"
	// TimedOut failures are retried for prompts, and fatal for scripts.
	TimedOut Class = "timeout"
	// Fatal failures make the agent fail immediately. Causes are authentication, billing, a bad
	// request, an unknown model, a refusal by the model, a lost session, or a failing script.
	Fatal Class = "fatal"
	// Machine failures are fatal: the agent CLI is missing or too old. The command ends with the exit code
	// of the class runtime.
	Machine Class = "runtime"
	// Denied failures are fatal: this process is not allowed to run the state. The command ends with the
	// exit code of the class denied.
	Denied Class = "denied"
	// UsageLimit means that a usage limit has been reached. The agent waits until Failure.Reset, or
	// the run is suspended.
	UsageLimit Class = "usage_limit"
	// BudgetSpent means that the agent CLI has spent its budget. The run ends with the status
	// OverBudget; the conversation can be continued later.
	BudgetSpent Class = "over_budget"
	// Stopped means that the invocation was stopped because its context was done.
	Stopped Class = "stopped"
)

// Failure describes why an invocation returned no usable answer. It implements error, so that agent
// CLIs can return it.
type Failure struct {
	Class   Class
	Message string    // one line in lower case, with the exit code or signal if there is one
	Reset   time.Time // UsageLimit: the time at which the limit ends; zero if unknown
	// NotBefore is the time before which the service wants no further request. It is zero if
	// unknown.
	NotBefore time.Time
	// NotStarted is set if no process of the agent CLI was started.
	NotStarted bool
	// Continue is set if the conversation contains the work so far, so that it can be continued.
	Continue bool
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }
