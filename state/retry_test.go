package state_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// TestRetriesBackOff: 1 s, 2 s, 4 s and so on, as many as allowed; then the agent
// fails with the last error. All of it is one state execution.
func TestRetriesBackOff(t *testing.T) {
	for _, class := range []state.Class{state.Transient, state.TimedOut} {
		p := newPlay(t, func(o *state.Options) { o.MaxRetries = 5 })
		for n := range 5 {
			p.ends("main", fail(class, "down"))
			a, wait := p.agent("main"), time.Second<<n
			equal(t, "wait ends", a.NotBefore, p.now.Add(wait))
			equal(t, "before it", p.next(0), "")
			equal(t, "wake", p.run.Step(p.now).WakeTime(), a.NotBefore)
			p.now = a.NotBefore
			equal(t, "after it", p.next(0), "main")
			retry := bodies[*state.Retry](p)[n]
			equal(t, "retry", *retry, state.Retry{N: n + 1, Error: "down", BackoffMS: wait.Milliseconds()})
		}
		p.ends("main", fail(class, "the last one"))
		equal(t, "failure", *p.agent("main").Failure, state.AgentFailure{Class: string(class), Message: "the last one"})
		equal(t, "executions begun", len(bodies[*state.StateStarted](p)), 1)
		equal(t, "executions ended", len(bodies[*state.StateFinished](p)), 1)
		equal(t, "iterations", p.run.Progress.Iterations, 1)
		equal(t, "invocations", p.run.Progress.Launches, 6)
	}
}

// TestWhatIsNotRetried: these fail the agent at once, and a script for anything.
func TestWhatIsNotRetried(t *testing.T) {
	for _, c := range []struct {
		state   string
		class   state.Class
		retries int
	}{
		{"A.md", state.Fatal, 2}, {"A.md", state.Machine, 2}, {"A.md", state.Transient, 0},
		{"S.sh", state.Transient, 2}, {"S.sh", state.TimedOut, 2}, {"S.sh", state.Fatal, 2},
	} {
		p := newPlay(t, func(o *state.Options) { o.MaxRetries = c.retries })
		p.turn("main", goTo(c.state))
		p.ends("main", fail(c.class, "no"))
		equal(t, fmt.Sprint(c), p.status("main"), state.Stuck)
	}
}

// TestSessionsOfRetries: a fresh state gets a new session, a branched one
// branches again from the caller's, one of a goto is cut back to where it was.
func TestSessionsOfRetries(t *testing.T) {
	p := newPlay(t, nil)
	var got []string
	var cuts []*int64
	for _, move := range []protocol.Move{goTo("B.md"), call("C.md", "A.md"), result("r")} {
		got = append(got, how(p.ends("main", fail(state.Transient, "x"))))
		p.now = p.now.Add(time.Hour)
		cuts = append(cuts, p.plan("main").Cut)
		got = append(got, how(p.turn("main", move)))
	}
	equal(t, "invocations", got, []string{"fresh s1", "fresh s2", "resume s2", "resume s2", "branch s3 s2", "branch s4 s2"})
	equal(t, "cut back to", cuts, []*int64{nil, new(int64(100)), nil})
}

// TestStoppedIsNotAFailure: what was cut off stays running in the file, counts no
// retry, and runs again at a resume in the session it had, with a note.
func TestStoppedIsNotAFailure(t *testing.T) {
	p := newPlay(t, nil)
	p.turn("main", goTo("B.md"))
	p.start("main")
	stopped := fail(state.Stopped, "cancelled")
	stopped.Cost = cost(state.Dollar)
	p.end("main", stopped)
	equal(t, "status", p.agent("main").Status, state.Busy)
	equal(t, "retries", p.agent("main").Exec.Retries, 0)
	p.resume(nil)
	equal(t, "status after the resume", p.agent("main").Status, state.Ready)
	equal(t, "told", *bodies[*state.AttemptInterrupted](p)[0], state.AttemptInterrupted{Attempt: 1, Reason: "cancelled", CostUSD: state.Dollar})
	plan := p.plan("main")
	if plan.Mode != state.Resume || plan.Cut == nil || *plan.Cut != 100 {
		t.Errorf("plan: got %+v, want the session resumed, cut back to 100", plan)
	}
	p.start("main")
	equal(t, "the agent is told", p.agent("main").Exec.Noted, true)
	equal(t, "iterations", p.run.Progress.Iterations, 2)
}

// TestCrashInAReminder repeats the reminder and not the state.
func TestCrashInAReminder(t *testing.T) {
	p := newPlay(t, nil)
	p.ends("main", refused)
	p.start("main")
	p.resume(nil)
	equal(t, "reminder", p.agent("main").Exec.Reminder, "again")
	plan := p.plan("main")
	equal(t, "plan", []any{plan.Mode, plan.Session.ID}, []any{state.Resume, "s1"})
	p.start("main")
	equal(t, "executions begun", len(bodies[*state.StateStarted](p)), 1)
	p.end("main", refused)
	p.ends("main", refused)
	equal(t, "after two reminders", p.agent("main").Status, state.Stuck)
	equal(t, "reminders", len(bodies[*state.Reminder](p)), 2)
}

// TestFailedAgentsTryAgain: a failed state is tried again at a resume, as a new
// execution with its own retries, and its session is cut back to where the
// failed one found it.
func TestFailedAgentsTryAgain(t *testing.T) {
	p := newPlay(t, nil)
	p.turn("main", goTo("B.md"))
	p.ends("main", refused)
	p.ends("main", fail(state.Fatal, "refused"))
	p.resume(nil)
	plan := p.plan("main")
	if plan.Mode != state.Resume || plan.Cut == nil || *plan.Cut != 100 {
		t.Errorf("plan: got %+v, want the session resumed, cut back to 100", plan)
	}
	p.start("main")
	equal(t, "iterations", p.run.Progress.Iterations, 3)
	equal(t, "reminders", p.agent("main").Exec.Reminders, 0)
}

// TestClockChanges: a wait is never longer than the whole of it, and over when
// its end has passed.
func TestClockChanges(t *testing.T) {
	for _, c := range []struct{ moved, left time.Duration }{
		{-24 * time.Hour, time.Second}, {0, time.Second}, {400 * time.Millisecond, 600 * time.Millisecond}, {24 * time.Hour, 0},
	} {
		p := newPlay(t, nil)
		p.ends("main", fail(state.Transient, "down"))
		p.now = p.now.Add(c.moved)
		p.resume(nil)
		equal(t, "left to wait", max(0, p.agent("main").NotBefore.Sub(p.now)), c.left)
	}
	for _, move := range []protocol.Move{after("B.md", time.Hour), askFor(time.Hour)} {
		p := newPlay(t, nil)
		p.turn("main", move)
		p.now = p.now.Add(-24 * time.Hour)
		p.resume(nil)
		equal(t, "waits until", p.agent("main").Waits.Until, p.now.Add(time.Hour))
	}
}

// TestATimeOfWorkIsThatOfWork: neither the rest between two jobs nor the installation of the
// agent CLI is part of how long a state and its attempt took.
func TestATimeOfWorkIsThatOfWork(t *testing.T) {
	p := newPlay(t, nil)
	p.start("main")
	p.now = p.now.Add(10 * time.Second)
	o := answers("mute")
	o.Process.Prepared = 4 * time.Second
	p.end("main", o)
	p.closed(&state.Stop{Status: state.Suspended, Reason: "deadline"})
	p.now = p.now.Add(time.Hour)
	p.resume(nil)
	attempt := p.agent("main").Exec.AttemptStarted
	p.start("main")
	p.now = p.now.Add(5 * time.Second)
	p.end("main", moves(0, goTo("B.md")))
	equal(t, "worked", bodies[*state.StateFinished](p)[0].DurationMS, int64(11_000))
	equal(t, "attempt began", p.now.Sub(attempt), 11*time.Second)
}
