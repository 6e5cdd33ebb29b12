package state

import (
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
	e.Phase, e.Running, e.Reminder, e.Continue = PhaseVerify, nil, "", false
	e.Refused, e.AgentCode = sentence(o.Problems), o.ExitCode
	if len(o.Problems) == 0 {
		d := o.Decision
		e.Asked = &d
	}
	a.Status = Ready
}

// Awaited names the states to which the move leads that waits for a verdict.
func (e *Exec) Awaited() []string {
	if e.Asked == nil {
		return nil
	}
	names := []string{e.Asked.Then.To, e.Asked.Then.Return}
	for _, f := range e.Asked.Spawns {
		names = append(names, f.State, f.Next)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
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
	s.emit(a, &attempt)
	switch {
	case attempt.Converged:
		s.converge(a)
	case e.Attempt < st.Policy.Convergence.MaxAttempts:
		s.again(a, st.Policy.Convergence, attempt)
	default:
		s.giveUp(a, st, attempt)
	}
}

// attempt is the verdict on an attempt.
func (s *Step) attempt(e *Exec, c *protocol.Convergence, v Verification) NodeAttempt {
	n := NodeAttempt{
		Attempt: e.Attempt, CostUSD: e.AttemptUSD, Results: v.Results,
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
	e.Retries, e.Reminders = 0, 0
	e.AttemptStarted, e.AttemptUSD = time.Time{}, 0
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
