package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// firstBackoff is the wait before the first retry. Each further wait is twice as long as the one before.
const firstBackoff = time.Second

// endFailed decides how the agent continues after a failed invocation.
func (x *execution) endFailed(o Outcome) {
	a, e, f, prompt := x.agent, x.agent.Exec, *o.Failure, x.state.Kind == protocol.Prompt
	switch {
	case f.Class == Stopped:
		e.Interrupted = f.Message
		e.undoInvocation()
	case f.Class == UsageLimit:
		x.reachUsageLimit(f, o.Hold)
	case f.Class == BudgetSpent:
		x.delta.Progress.Exhausted = true
		a.Status = Ready
		x.continueLater(o)
	case prompt && x.waitForService(&f):
	case prompt && e.Retries < x.options.MaxRetries && (slices.Contains([]Class{Transient, TimedOut}, f.Class) || f.Class == Service && x.options.overloadWait() == 0):
		wait := firstBackoff << min(e.Retries, 20)
		e.Retries++
		e.undoInvocation()
		x.agent.pause(x.now, wait)
		x.emit(&Retry{N: e.Retries, Error: f.Message, BackoffMS: wait.Milliseconds()})
	case x.getsVerdict(&f, o):
		x.awaitVerdict(o)
		// If the CLI reported no id for the conversation, the next attempt can't continue the conversation.
		if o.Session == "" {
			e.Session = nil
		}
		// The service keeps failing, so all further attempts may fail in the same way.
		if f.Class == Service {
			e.LastingFailure = &AgentFailure{Class: string(f.Class), Message: f.Message}
		}
	default:
		if f.Continue && e.Running != nil && e.Running.Mode != "" {
			x.continueLater(o)
		}
		if e.PassedResults != nil && !slices.Contains([]Class{Service, Fatal, Machine}, f.Class) {
			f.Message = reasonNoTag + ": " + f.Message
		}
		x.fail(f.Class, f.Message, o)
	}
}

// reachUsageLimit makes the agent wait until the usage limit ends, if the end is known and not further
// away than hold. A negative hold allows any wait. Other agents continue. If the agent does not wait,
// nothing new starts until the run is resumed.
func (x *execution) reachUsageLimit(f Failure, hold time.Duration) {
	a, left := x.agent, f.Reset.Sub(x.now)
	a.Exec.undoInvocation()
	x.emit(&Limit{Which: "usage"})
	if left <= 0 || hold >= 0 && left > hold {
		a.Status = Ready
		x.delta.Progress.Hold, x.delta.Progress.Until = f.Message, f.Reset
		return
	}
	x.beginWait(a, WaitCondition{For: ForTime, Until: inUTC(f.Reset)})
}

// continueLater keeps the conversation of an invocation that ended before its work was done. The next
// invocation continues it.
func (x *execution) continueLater(o Outcome) {
	e := x.agent.Exec
	e.Session = e.sessionAfter(x.agent.Session, o)
	e.Continue, e.Running = true, nil
}

// DefaultOverloadWait is how long an agent waits for a failing service by default.
const DefaultOverloadWait = 10 * time.Minute

// maxOutageBackoff is the longest wait between two attempts while the service fails. The first wait is
// firstBackoff, and each further wait is twice as long as the one before.
const maxOutageBackoff = time.Minute

// SuspendOnOverload is the value of Options.OnOverload with which a failing service suspends the run.
const SuspendOnOverload = "suspend"

// These constants limit suspensions because of a failing service: the length of the first one, the
// maximum length, and the maximum number in a row. Each suspension is twice as long as the one before.
const (
	firstSuspension   = 15 * time.Minute
	longestSuspension = 4 * time.Hour
	maxSuspensions    = 6
)

// Outage is a series of failures of the model's service, during which an agent waits in this process.
// These failures don't count as retries of the agent's state.
type Outage struct {
	Since time.Time `json:"since" is:"set"`  // time of the first failure
	N     int       `json:"n" is:"positive"` // number of failures
}

// overloadWait returns how long to wait for a failing service. If it is 0, such failures are handled like
// all others.
func (o *Options) overloadWait() time.Duration {
	if o.OverloadWait == nil {
		return DefaultOverloadWait
	}
	return time.Duration(*o.OverloadWait)
}

// waitForService makes the agent wait because the model's service failed, or suspends the run after a
// long wait. It returns false if the agent must handle f like other failures; it may then have added the
// reason to f.
func (x *execution) waitForService(f *Failure) bool {
	limit := x.options.overloadWait()
	if f.Class != Service || limit == 0 {
		return false
	}
	o := Outage{Since: inUTC(x.now)}
	if x.agent.Outage != nil {
		o = *x.agent.Outage
	}
	o.N++
	left := min(o.Since.Add(limit).Sub(x.now), limit) // the minimum matters if the clock was set back
	asked := f.NotBefore.Sub(x.now)
	switch {
	case left <= 0:
		f.Message += fmt.Sprintf(" (the service kept failing for %s, the limit of overload-wait)", limit)
		return x.suspendForService(f)
	case asked > left:
		f.Message += fmt.Sprintf(" (the service is unavailable until %s, which exceeds the limit of overload-wait, %s)",
			f.NotBefore.UTC().Format("2006-01-02 15:04:05 UTC"), limit)
		return x.suspendForService(f)
	}
	backoff := min(firstBackoff<<min(o.N-1, 20), maxOutageBackoff)
	wait := min(max(backoff, asked), left)
	x.agent.Outage = &o
	x.agent.Exec.undoInvocation()
	x.agent.pause(x.now, wait)
	x.emit(&Retry{N: o.N, Error: f.Message, BackoffMS: wait.Milliseconds(), Service: true})
	return true
}

// suspendForService suspends the run because the service has failed for too long. It returns false if
// the agent must fail instead; it may then have added the reason to f. If several agents wait for the
// service, only the first one sets the time at which to resume.
func (x *execution) suspendForService(f *Failure) bool {
	p := &x.delta.Progress
	switch {
	case x.options.OnOverload != SuspendOnOverload:
		return false
	case p.Hold == "" && p.Suspensions >= maxSuspensions:
		f.Message += fmt.Sprintf(" (after %s)", Count(p.Suspensions, "suspension"))
		return false
	}
	if p.Hold == "" {
		wait := min(firstSuspension<<p.Suspensions, longestSuspension)
		asked := min(f.NotBefore.Sub(x.now), longestSuspension)
		p.Hold, p.Until = f.Message, inUTC(x.now.Add(max(wait, asked)))
		p.Suspensions++
	}
	x.agent.Status = Ready
	x.agent.Exec.undoInvocation()
	return true
}
