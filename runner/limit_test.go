package runner_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// metered is a cast whose usage limits end a time after they are met.
type metered struct {
	*cast
	after time.Duration
}

func (m metered) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	a, err := m.cast.Run(ctx, o, tell)
	var f *runner.Failure
	if errors.As(err, &f) && f.Class == runner.UsageLimit {
		f.Reset = time.Now().Add(m.after)
	}
	return a, err
}

// limited is a workflow of two agents, of which the worker meets a usage limit once.
func limited(t *testing.T, ends, hold time.Duration) *loop {
	l := newLoop(t, flow{"A": `<fork next="B">W</fork>`, "B": "<goto>C</goto>", "C": "<result>c</result>", "W": "<result>w</result>"}, nil)
	l.says["W.md"] = []string{"usage_limit!until later", "<result>w</result>"}
	l.cfg.Agents, l.cfg.Hold = claudeOnly(runner.Through(l.cast, metered{l.cast, ends})), hold
	return l
}

// TestAUsageLimitWithinTheHoldIsWaitedFor by its agent, while the others continue: a few
// minutes also where the run holds without end.
func TestAUsageLimitWithinTheHoldIsWaitedFor(t *testing.T) {
	for _, hold := range []time.Duration{5 * time.Minute, -1} {
		synctest.Test(t, func(t *testing.T) {
			l := limited(t, 4*time.Minute, hold)
			began := time.Now()
			l.drive(false, state.Completed)
			same(t, "agents", []string{"main=c", "main_w1=w"}, ended(l.run))
			same(t, "goes on", []*state.AgentGoesOn{{By: "time"}}, told[*state.AgentGoesOn](l))
			if took := time.Since(began); took < 4*time.Minute || took > 5*time.Minute {
				t.Errorf("run: got %v, want the four minutes of the limit and little more", took)
			}
		})
	}
}

// TestAUsageLimitBeyondTheHoldSuspends the run until it ends.
func TestAUsageLimitBeyondTheHoldSuspends(t *testing.T) {
	for _, hold := range []time.Duration{0, time.Minute, -1} {
		synctest.Test(t, func(t *testing.T) {
			l := limited(t, time.Hour, hold)
			l.drive(false, state.Suspended)
			same(t, "waiting", []state.Wait{}, l.run.Waiting())
			until := l.run.Progress.Until
			here := state.Here{}
			for after, due := range map[time.Duration]bool{-time.Second: false, 0: true} {
				if got := l.run.IsDue(until.Add(after), here, hold); got != due {
					t.Errorf("due %v after the end of the limit: got %v, want %v", after, got, due)
				}
			}
			time.Sleep(time.Until(until))
			l.drive(true, state.Completed)
		})
	}
}

// TestADeadlineCountsFromWhenItBegan, which may be before the run was driven, or before its
// whole time was up.
func TestADeadlineCountsFromWhenItBegan(t *testing.T) {
	for before, want := range map[time.Duration]time.Duration{0: time.Minute, 20 * time.Second: 40 * time.Second, time.Hour: 0} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": "<goto>A</goto>"}, func(o *state.Options) { o.Grace = 0; o.BudgetUSD = 0 })
			l.cfg.Deadline, l.cfg.Began, l.cfg.Continuations = time.Minute, time.Now().Add(-before), 3
			began := time.Now()
			l.drive(false, state.Suspended)
			if took := time.Since(began); took < want || took > want+15*time.Second {
				t.Errorf("%v before: got suspended after %v, want after %v", before, took, want)
			}
			p := l.run.Progress
			if want := map[bool]state.Continuing{true: state.Continues, false: state.NoProgress}[want > 0]; p.Continuing != want {
				t.Errorf("%v before: got %q, want %q", before, p.Continuing, want)
			}
		})
	}
}
