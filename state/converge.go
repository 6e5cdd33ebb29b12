package state

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// The values of attempt_context that are not the default.
const (
	contextFresh    = "fresh"
	contextContinue = "continue"
)

// The reasons of an attempt that failed, and of a state that gave up.
const (
	reasonCommands  = "done_when_failed"
	reasonProtected = "protected_files_changed"
	reasonNoTag     = "no_transition_tag"
	reasonExhausted = "max_ralph_iters_reached"
)

// carriesOn reports whether an attempt resumes the conversation of the one before.
func carriesOn(e *Exec, st *protocol.State) bool {
	c := st.Policy.Convergence
	return c != nil && c.AttemptContext == contextContinue && e.Attempt > 1
}

// verify takes in what the agent run of an attempt ended with. The move waits
// for the verdict of the commands: until then it has no effect.
func (s *Step) verify(a *Agent, o Outcome) {
	e := a.Exec
	e.Session = e.settle(a.Session, o)
	e.Phase, e.Running, e.Continue = PhaseVerify, nil, false
	e.AgentCode = o.ExitCode
	e.lack(o)
	if len(o.Problems) == 0 {
		d := o.Decision
		e.Asked = &d
	}
	a.Status = Ready
}

// lack notes what was wrong with the message of an attempt's agent run, and how it
// would be reminded of that.
func (e *Exec) lack(o Outcome) {
	e.Refused, e.Reask, e.Reminder = sentence(o.Problems), o.Reminder, ""
	e.Untagged = len(o.Problems) == 1 && o.Problems[0].Code == protocol.NoTag
}

// judgeable reports whether an attempt gets its verdict although the agent run failed
// and is not tried again: the work may be done all the same. It is not asked of
// one that was never begun or was refused, nor when the commands have passed
// already and all that was missing is a move.
func (e *Exec) judgeable(f *Failure, o Outcome) bool {
	began := (f.Class == Transient || f.Class == Service || f.Class == TimedOut || f.Continue) && !f.NotStarted
	return began && (e.Passed == nil || len(o.Problems) == 0)
}

// settleFailed keeps what a failed agent run leaves to the verdict: its conversation
// only when there is one, and the fault when another attempt would meet it too.
func (e *Exec) settleFailed(f *Failure, o Outcome) {
	if o.Session == "" {
		e.Session = nil
	}
	if f.Class == Service {
		e.Gave = &Fault{Class: string(f.Class), Message: f.Message}
	}
}

// Verification is what the done_when commands of an attempt brought.
type Verification struct {
	Results []CommandResult
	Changed []string // protected files that are not what they were
	// Stopped says why the commands were cut off; they run again at a resume.
	Stopped string
}

// Judge takes in the verification of an attempt: the verdict and what follows
// from it are one change.
func (s *Step) Judge(id string, st *protocol.State, v Verification) {
	a := s.edit(id)
	e := a.Exec
	if v.Stopped != "" {
		e.Interrupted, e.Running = v.Stopped, nil
		return
	}
	attempt := s.attempt(e, st.Policy.Convergence, v)
	switch {
	case attempt.Converged:
		s.emit(a, &attempt)
		s.converge(a)
	case attempt.Reason == reasonNoTag:
		e.Phase, e.Passed = PhaseAgent, v.Results
		s.askAgain(a, st)
	default:
		s.rejected(a, st, attempt)
	}
	s.checkCosts(a)
}

// askAgain reminds an agent whose work passes of the move that it lacks. After the
// last reminder a move that is missing fails the agent, since further attempts at
// work that is done would only cost; one that is not allowed is a failed attempt.
func (s *Step) askAgain(a *Agent, st *protocol.State) {
	e := a.Exec
	if e.Reminders < s.Options().MaxReminders {
		s.ask(a, e.Reask, e.Refused)
		return
	}
	attempt := s.attempt(e, st.Policy.Convergence, Verification{Results: e.Passed})
	if !e.Untagged {
		s.rejected(a, st, attempt)
		return
	}
	s.emit(a, &attempt)
	e.Reminder, e.Verdict = e.Reask, &attempt
	s.fail(a, Fault{Class: string(Fatal), Message: fmt.Sprintf("%s: %s (after %s)", reasonNoTag, e.Refused, Count(e.Reminders, "reminder"))}, Outcome{})
}

// rejected is what follows from an attempt that failed.
func (s *Step) rejected(a *Agent, st *protocol.State, failed NodeAttempt) {
	s.emit(a, &failed)
	e, c := a.Exec, st.Policy.Convergence
	switch {
	case e.Gave != nil:
		s.fail(a, *e.Gave, Outcome{})
	case e.Attempt < c.MaxAttempts:
		s.again(a, c, failed)
	default:
		s.giveUp(a, st, failed)
	}
}

// attempt is the verdict on an attempt.
func (s *Step) attempt(e *Exec, c *protocol.Convergence, v Verification) NodeAttempt {
	n := NodeAttempt{
		Attempt: e.Attempt, CostUSD: e.AttemptUSD, Estimated: e.AttemptEstimated, Unknown: e.AttemptUnknown, Results: v.Results,
		DurationS: max(0, s.now.Sub(e.AttemptStarted)).Round(time.Millisecond).Seconds(),
	}
	if e.Attempt > 1 {
		n.BackoffS = new(backoff(c.Backoff, e.Attempt).Seconds())
	}
	failed := slices.ContainsFunc(v.Results, func(r CommandResult) bool { return r.RC != 0 })
	switch {
	case failed:
		n.Reason = reasonCommands
	case len(v.Changed) > 0:
		n.Reason = reasonProtected + ": " + strings.Join(v.Changed, ", ")
	case e.Asked == nil:
		n.Reason = reasonNoTag
	default:
		n.Converged = true
	}
	return n
}

// backoff is the wait before an attempt, from the second on: it doubles from
// the base up to the maximum.
func backoff(b protocol.Backoff, attempt int) time.Duration {
	wait := b.Base
	for i := 2; i < attempt && wait < b.Max; i++ {
		wait *= 2
	}
	return min(wait, b.Max)
}

// converge applies the move of the attempt.
func (s *Step) converge(a *Agent) {
	e := a.Exec
	if e.Attempt > 1 {
		s.d.Progress.Flakes++
	}
	s.finish(a, Outcome{Decision: *e.Asked}, e.Session)
}

// again prepares the next attempt. What the failed one asked for is forgotten.
func (s *Step) again(a *Agent, c *protocol.Convergence, failed NodeAttempt) {
	e := a.Exec
	e.Attempt++
	e.Phase, e.Running, e.Asked, e.Refused, e.Noted = PhaseAgent, nil, nil, "", false
	e.Retries, e.Reminders, e.Reminder, e.Reask, e.Untagged, e.Passed = 0, 0, "", "", false, nil
	e.AttemptStarted, e.AttemptUSD, e.AttemptEstimated, e.AttemptUnknown = time.Time{}, 0, false, 0
	e.Verdict = &failed
	if c.AttemptContext != contextContinue {
		e.Session, e.Cut = nil, nil
	}
	if wait := backoff(c.Backoff, e.Attempt); wait > 0 {
		s.pause(a, wait)
		return
	}
	a.Status = Ready
}

// giveUp is what a state does after its last attempt.
func (s *Step) giveUp(a *Agent, st *protocol.State, failed NodeAttempt) {
	c := st.Policy.Convergence
	switch c.OnExhausted {
	case "fail":
		a.Exec.Verdict = &failed
		a.Exec.EntryLen = nil // every attempt was a branch: the entry session is as it was
		s.fail(a, Fault{Class: string(Fatal), Message: reasonExhausted}, Outcome{})
	case "suspend":
		s.emit(a, s.finished(a, Outcome{}, reasonExhausted))
		s.d.Progress.Hold = "state " + a.State + " of agent " + a.ID + ": " + reasonExhausted
		a.Exec, a.Status = nil, Ready
	default:
		s.emit(a, s.finished(a, Outcome{}, reasonExhausted))
		s.emit(a, &Transition{Tag: string(protocol.Reset), Target: c.OnExhausted, From: a.State})
		a.Exec, a.Model = nil, ""
		a.Session, a.Branch = nil, false
		a.enter(c.OnExhausted, "")
		a.Failure = Text(failed.Report(c.MaxAttempts))
	}
}
