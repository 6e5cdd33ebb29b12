package state

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// Values of attempt_context that are not the default.
const (
	contextFresh    = "fresh"
	contextContinue = "continue"
)

// The codes for why an attempt failed or a state gave up. DescribeFailure explains them to users.
const (
	reasonCommands  = "done_when_failed"
	reasonProtected = "protected_files_changed"
	reasonNoTag     = "no_transition_tag"
	reasonExhausted = "max_ralph_iters_reached"
)

// awaitVerdict ends the agent's run of an attempt, so that the done_when commands run next. The move
// that the agent requested is made only after these commands have passed.
func (x *execution) awaitVerdict(o Outcome) {
	e := x.agent.Exec
	e.Session = e.sessionAfter(x.agent.Session, o)
	e.Phase, e.Running, e.Continue = PhaseVerify, nil, false
	e.AgentCode = o.Process.ExitCode
	e.recordProblems(o)
	if len(o.Problems) == 0 {
		e.PendingMove = &o.Decision
	}
	x.agent.Status = Ready
}

// recordProblems records the problems in the agent's final message, and the reminder about them.
func (e *Exec) recordProblems(o Outcome) {
	e.MoveProblem, e.MoveReminder, e.Reminder = messages(o.Problems), o.Reminder, ""
	e.HasNoTag = len(o.Problems) == 1 && o.Problems[0].Code == protocol.NoTag
}

// getsVerdict reports whether the state's done_when commands run although the agent CLI failed and is not
// tried again. They run because the work may be done anyway. They don't run if the CLI did not start or
// if the failure is fatal, or if the commands have already passed and only an allowed move is missing.
func (x *execution) getsVerdict(f *Failure, o Outcome) bool {
	began := (f.Class == Transient || f.Class == Service || f.Class == TimedOut || f.Continue) && !f.NotStarted
	return x.state.Policy.Convergence != nil && began && (x.agent.Exec.PassedResults == nil || len(o.Problems) == 0)
}

// endVerification decides how the agent continues after the done_when commands of its attempt.
func (x *execution) endVerification(v Verification) {
	e := x.agent.Exec
	if v.Stopped != "" {
		e.Interrupted, e.Running = v.Stopped, nil
		return
	}
	verdict := x.verdict(v)
	switch {
	case verdict.Converged:
		x.emit(&verdict)
		if e.Attempt > 1 {
			x.delta.Progress.FlakeRetries++
		}
		x.finish(Outcome{Decision: *e.PendingMove}, e.Session)
	case verdict.Reason == reasonNoTag:
		e.Phase, e.PassedResults = PhaseAgent, v.Results
		x.askForMove()
	default:
		x.endAttempt(verdict, v.Lost...)
	}
}

// askForMove sends a reminder to an agent whose commands have passed but whose move is missing or not
// allowed. If the agent has had all its reminders, a message without a tag fails the agent: the work is
// done, so another attempt would only cost money. A move that is not allowed fails the attempt.
func (x *execution) askForMove() {
	e := x.agent.Exec
	if e.Reminders < x.options.MaxReminders {
		x.sendReminder(e.MoveReminder, e.MoveProblem)
		return
	}
	failed := x.verdict(Verification{Results: e.PassedResults})
	if !e.HasNoTag {
		x.endAttempt(failed)
		return
	}
	x.emit(&failed)
	e.Reminder, e.Verdict = e.MoveReminder, &failed
	x.fail(Fatal, fmt.Sprintf("%s: %s (after %s)", reasonNoTag, e.MoveProblem, Count(e.Reminders, "reminder")), Outcome{})
}

// endAttempt decides how the agent continues after a failed attempt. lost lists protected files that
// could not be restored. They fail the agent immediately, because they would also fail all further
// attempts. After the last attempt, the state's on_exhausted decides: it fails the agent, suspends the run,
// or moves the agent to another state.
func (x *execution) endAttempt(failed NodeAttempt, lost ...string) {
	x.emit(&failed)
	a, e, c := x.agent, x.agent.Exec, x.state.Policy.Convergence
	switch lasting := e.LastingFailure; {
	case len(lost) > 0:
		e.Verdict = &failed
		x.fail(Fatal, fmt.Sprintf("%s: %s; there is no copy to restore", reasonProtected, strings.Join(lost, ", ")), Outcome{})
		return
	case lasting != nil:
		x.fail(Class(lasting.Class), lasting.Message, Outcome{})
		return
	}
	x.delta.Progress.HasProgress, e.Verdict = true, &failed
	switch {
	case e.Attempt < c.MaxAttempts:
		e.Attempt++
		// The move that the failed attempt requested is discarded.
		e.Phase, e.Running, e.PendingMove, e.MoveProblem, e.WasInterrupted = PhaseAgent, nil, nil, "", false
		e.Retries, e.Reminders, e.Reminder, e.MoveReminder, e.HasNoTag, e.PassedResults = 0, 0, "", "", false, nil
		e.AttemptStarted, e.AttemptSpent = time.Time{}, Spent{}
		if c.AttemptContext != contextContinue {
			e.Session, e.Cut = nil, nil
		}
		if wait := attemptBackoff(c.Backoff, e.Attempt); wait > 0 {
			a.pause(x.now, wait)
			return
		}
		a.Status = Ready
	case c.OnExhausted == "fail":
		// Every attempt worked on a copy, so the conversation with which the agent entered the state is
		// unchanged.
		e.EntryLen = nil
		x.fail(Fatal, reasonExhausted, Outcome{})
	case c.OnExhausted == "suspend":
		x.emit(x.finished(Outcome{}, reasonExhausted))
		x.delta.Progress.Hold = reasonOf(a, reasonExhausted)
		a.Exec, a.Status = nil, Ready
	default:
		x.emit(x.finished(Outcome{}, reasonExhausted))
		x.emit(&Transition{Tag: string(protocol.Reset), Target: c.OnExhausted, From: a.State})
		a.Exec, a.Model, a.Backend, a.By = nil, "", "", x.cause()
		a.Session, a.Branch = nil, false
		a.enter(c.OnExhausted, "")
		a.Report = Text(failed.Report(c.MaxAttempts))
	}
}

// verdict returns the verdict on the current attempt, based on the results of its commands.
func (x *execution) verdict(v Verification) NodeAttempt {
	e := x.agent.Exec
	n := NodeAttempt{
		Attempt: e.Attempt, Spent: e.AttemptSpent, Results: append([]CommandResult{}, v.Results...),
		DurationS: max(0, x.now.Sub(e.AttemptStarted)).Round(time.Millisecond).Seconds(),
	}
	if e.Attempt > 1 {
		n.BackoffS = new(attemptBackoff(x.state.Policy.Convergence.Backoff, e.Attempt).Seconds())
	}
	n.Protected = v.Changed
	failed := slices.ContainsFunc(v.Results, func(r CommandResult) bool { return r.RC != 0 })
	switch {
	case failed:
		n.Reason = reasonCommands
	case len(v.Changed) > 0:
		n.Reason = reasonProtected + ": " + strings.Join(v.Changed, ", ")
	case e.PendingMove == nil:
		n.Reason = reasonNoTag
	default:
		n.Converged = true
	}
	return n
}

// attemptBackoff returns the wait before an attempt. attempt is at least 2. The wait is b.Base before
// the second attempt, and doubles with each further attempt up to b.Max.
func attemptBackoff(b protocol.Backoff, attempt int) time.Duration {
	wait := b.Base
	for i := 2; i < attempt && wait < b.Max; i++ {
		wait *= 2
	}
	return min(wait, b.Max)
}
