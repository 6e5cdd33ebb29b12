package runner_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// pair is a workflow of two agents, of which the worker meets an overloaded service.
func pair(t *testing.T, change func(*state.Options)) *loop {
	l := newLoop(t, flow{"A": `<fork next="B">W</fork>`, "B": "<goto>C</goto>", "C": "<result>c</result>", "W": "<result>w</result>"}, change)
	l.says["W.md"] = append(slices.Repeat([]string{"service!529"}, 5), "<result>w</result>")
	return l
}

// TestOverloadIsWaitedOut: with what other agents do going on; it counts as no
// retry and changes no outcome.
func TestOverloadIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pair(t, func(o *state.Options) { o.MaxRetries = 0 })
		l.drive(false, state.Completed)
		var waits []time.Duration
		for _, r := range told[*state.Retry](l) {
			waits = append(waits, time.Duration(r.BackoffMS)*time.Millisecond)
		}
		same(t, "waits", secondsOf(1, 2, 4, 8, 16), waits)
		same(t, "outcome", "clean", l.end().Outcome)
		same(t, "agents", []string{"main=c", "main_w1=w"}, ended(l.run))
		last := slices.IndexFunc(l.orders, func(o runner.Order) bool { return o.State == "C.md" })
		if began, second := l.began[last], l.began[0].Add(6*time.Second); began.After(second) {
			t.Errorf("the other agent's last state began at %v, want it before %v, during the wait", began, second)
		}
	})
}

// TestTheWaitForTheServiceCountsTowardTheDeadline: the run is then suspended, and
// its resume waits out another outage for the whole time.
func TestTheWaitForTheServiceCountsTowardTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pair(t, func(o *state.Options) { o.OverloadWait = new(state.Duration(25 * time.Second)) })
		l.cfg.Deadline = 20 * time.Second
		l.drive(false, state.Suspended)
		a, _ := l.run.Agent("main_w1")
		same(t, "waiting", []any{state.Ready, false}, []any{a.Status, a.NotBefore.IsZero()})
		l.cfg.Deadline = 0
		l.says["W.md"] = append(slices.Repeat([]string{"service!529"}, 9), "<result>w</result>")
		l.drive(true, state.Completed)
	})
}
