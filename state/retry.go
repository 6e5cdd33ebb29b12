package state

import (
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
	case prompt && e.Retries < x.options.MaxRetries && (f.Class == Transient || f.Class == TimedOut || f.Class == Service && x.options.overloadWait() == 0):
		wait := firstBackoff << min(e.Retries, 20)
		e.Retries++
		e.undoInvocation()
		x.agent.pause(x.now, wait)
		x.emit(&Retry{N: e.Retries, Error: f.Message, BackoffMS: wait.Milliseconds()})
	case x.state.Policy.Convergence != nil && e.getsVerdict(&f, o):
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
		x.failForGood(f, o)
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

// failForGood fails an agent after an invocation that failed and is not tried again.
func (x *execution) failForGood(f Failure, o Outcome) {
	e := x.agent.Exec
	if f.Continue && e.Running != nil && e.Running.Mode != "" {
		x.continueLater(o)
	}
	if e.PassedResults != nil && f.Class != Service && f.Class != Fatal && f.Class != Machine {
		f.Message = reasonNoTag + ": " + f.Message
	}
	x.fail(f.Class, f.Message, o)
}

// continueLater keeps the conversation of an invocation that ended before its work was done. The next
// invocation continues it.
func (x *execution) continueLater(o Outcome) {
	e := x.agent.Exec
	e.Session = e.sessionAfter(x.agent.Session, o)
	e.Continue, e.Running = true, nil
}
