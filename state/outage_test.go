package state_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// down ends an invocation of main because the service failed, and moves to the
// end of the wait.
func (p *play) down(after time.Duration) {
	p.t.Helper()
	p.start("main")
	o := fail(state.Service, "529")
	if after > 0 {
		o.Failure.NotBefore = p.now.Add(after)
	}
	p.end("main", o)
	if a := p.agent("main"); a.Status == state.Ready {
		p.now = a.NotBefore
	}
}

// retries are the waits of the run so far, in seconds.
func (p *play) retries() []float64 {
	var out []float64
	for n, r := range bodies[*state.Retry](p) {
		equal(p.t, "number of a retry, and that it is the service's", []any{r.N, r.Service}, []any{n + 1, true})
		out = append(out, float64(r.BackoffMS)/1000)
	}
	return out
}

// TestFailuresOfTheServiceAreWaitedOut: 1 s, 2 s and so on up to a minute, until
// the time is over that counts from the first of them; the last wait ends with it. A wait that
// the service asks for goes before a shorter one of ours; one beyond the end ends the waiting
// at once. No retry is counted.
func TestFailuresOfTheServiceAreWaitedOut(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		limit *state.Duration
		asks  []time.Duration // waits, in the first failures
		want  []float64
		says  string
	}{
		{nil, nil, []float64{1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60, 60, 57}, "529 (the service has failed for the 10m0s of overload-wait)"},
		{new(state.Duration(20 * s)), nil, []float64{1, 2, 4, 8, 5}, "has failed for the 20s"},
		{new(state.Duration(s)), nil, []float64{1}, "has failed for the 1s"},
		{new(state.Duration(60 * s)), []time.Duration{10 * s, 1, 48 * s}, []float64{10, 2, 48}, "has failed for the 1m0s"},
		{new(state.Duration(60 * s)), []time.Duration{10 * s, 51 * s}, []float64{10}, "asks for a wait until"},
	} {
		p := newPlay(t, func(o *state.Options) { o.OverloadWait, o.MaxRetries = c.limit, 1 })
		for n := 0; p.agent("main").Status == state.Ready; n++ {
			p.down(append(c.asks, make([]time.Duration, n+1)...)[n])
		}
		equal(t, "waits", p.retries(), c.want)
		if f := p.agent("main").Failure; f.Class != string(state.Service) || !strings.Contains(f.Message, c.says) {
			t.Errorf("failure: got %+v, want it to say %q", f, c.says)
		}
		equal(t, "retries counted, executions begun", []int{p.agent("main").Exec.Retries, len(bodies[*state.StateStarted](p))}, []int{0, 1})
	}
}

// TestAnOutageIsARowOfOneAgentInOneProcess: what ends otherwise in between, another
// agent, and another process each begin anew.
func TestAnOutageIsARowOfOneAgentInOneProcess(t *testing.T) {
	limit := func(o *state.Options) { o.OverloadWait, o.MaxRetries = new(state.Duration(4*time.Second)), 9 }
	for name, between := range map[string]func(*play){
		"nothing":         func(*play) {},
		"an answer":       func(p *play) { p.turn("main", goTo("A.md")) },
		"another process": func(p *play) { p.resume(nil) },
		"a failed agent":  func(p *play) { p.start("main"); p.end("main", fail(state.Fatal, "no")); p.resume(nil) },
	} {
		p := newPlay(t, limit)
		p.down(0)
		p.down(0) // 3 s of 4
		between(p)
		p.down(0)
		p.down(0)
		want := state.Ready
		if name == "nothing" {
			want = state.Stuck
		}
		equal(t, name+" in between", p.agent("main").Status, want)
	}
}

// suspendsOnOverload are options with which an overloaded service suspends the run.
func suspendsOnOverload(o *state.Options) {
	o.OnOverload, o.OverloadWait = state.SuspendOnOverload, new(state.Duration(time.Second))
}

// TestAnOutageThatLastsSuspends the run instead of failing the agent: for a quarter of an
// hour, twice as long each time up to four hours, six times in a row.
func TestAnOutageThatLastsSuspends(t *testing.T) {
	p := newPlay(t, suspendsOnOverload)
	var waits []time.Duration
	for len(waits) < 9 {
		p.down(0) // waits for a second
		p.ends("main", fail(state.Service, "529"))
		if p.agent("main").Status != state.Ready {
			break
		}
		equal(t, "next", p.next(0), "")
		p.do(func(s *state.Step) { s.Close(s.Closing(nil)) })
		end := p.run.Progress
		equal(t, "status", end.Status, state.Suspended)
		assert.Check(t, is.Contains(end.Reason, "overload-wait"), "reason: want that the service failed for too long")
		waits = append(waits, end.Until.Sub(p.now))
		p.now = end.Until
		p.resume(nil)
	}
	equal(t, "suspensions", waits, []time.Duration{
		15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 4 * time.Hour,
	})
	f := p.agent("main").Failure
	assert.Check(t, is.Equal(f.Class, string(state.Service)), "failure")
	assert.Check(t, strings.HasSuffix(f.Message, "(after 6 suspensions)"), "failure: got %+v, want that of the service, after 6 suspensions", f)
	equal(t, "retries counted", p.agent("main").Exec.Retries, 0)
	p.do(func(s *state.Step) { s.Close(s.Closing(nil)) })
	p.resume(nil)
	equal(t, "count after the failure", p.run.Progress.Suspensions, 0)

	p = newPlay(t, suspendsOnOverload)
	other := p.fork("main")
	for _, id := range []string{"main", other} {
		p.ends(id, fail(state.Service, "529"))
	}
	p.now = p.now.Add(time.Second)
	p.start(other)
	p.down(0)
	p.end(other, fail(state.Service, "529"))
	p.do(func(s *state.Step) { s.Close(s.Closing(nil)) })
	p.resume(nil)
	equal(t, "two agents in one process", []any{p.run.Progress.Suspensions, p.status(other)}, []any{1, state.Ready})
	p.turn("main", goTo("A.md"))
	equal(t, "after an answer", p.run.Progress.Suspensions, 0)
}

// limited ends an invocation at a usage limit that ends after a time.
func limited(reset, hold time.Duration) state.Outcome {
	o := fail(state.UsageLimit, "limit")
	o.Hold = hold
	if reset != 0 {
		o.Failure.Reset = epoch.Add(reset)
	}
	return o
}

// TestAUsageLimitThatEndsSoonIsWaitedFor by the agent that met it, while others continue.
// One that ends later, at a time that nobody knows, or in the past, suspends the run.
func TestAUsageLimitThatEndsSoonIsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		reset, hold time.Duration
		waits       bool
	}{
		{5 * time.Minute, 5 * time.Minute, true}, {5*time.Minute + 1, 5 * time.Minute, false}, {100 * time.Hour, -1, true},
		{time.Minute, 0, false}, {0, -1, false}, {-time.Minute, time.Hour, false},
	} {
		p := newPlay(t, nil)
		p.turn("main", goTo("C.md"), protocol.Spawn{State: "B.md", Next: "C.md"})
		p.ends("main", limited(c.reset, c.hold))
		a := p.agent("main")
		equal(t, "waits", a.Status == state.Waiting, c.waits)
		equal(t, "next", p.next(0) == "main_b1", c.waits)
		equal(t, "usage limits told", len(bodies[*state.Limit](p)), 1)
		if !c.waits {
			equal(t, "end", p.closed(nil).Status, state.Suspended)
			continue
		}
		equal(t, "waits for", []any{a.Waits.For, a.Waits.Until}, []any{state.ForTime, epoch.Add(c.reset)})
		told := bodies[*state.AgentWaits](p)
		equal(t, "told", []any{len(told), told[0].Until}, []any{1, epoch.Add(c.reset).Format(time.RFC3339)})
		if a.Exec == nil || a.Exec.Running != nil {
			t.Errorf("execution: got %+v, want the one that met the limit, at rest", a.Exec)
		}
	}
}

// TestWhatADeadlineLeavesIsContinued: by the step itself, as often in a row as it may, and
// never after a part of the run that has brought nothing.
func TestWhatADeadlineLeavesIsContinued(t *testing.T) {
	deadline := &state.Stop{Status: state.Suspended, Reason: "deadline", Continuations: 2}
	moves := func(p *play) { p.turn("main", goTo("A.md")) }
	p := newPlay(t, nil)
	for n, want := range []state.Continuing{state.Continues, state.Continues, state.TooOften} {
		moves(p)
		p.do(func(s *state.Step) { s.Close(s.Closing(deadline)) })
		equal(t, "continued", []any{p.run.Progress.Continuing, p.run.Progress.Continuations}, []any{want, min(n+1, 2)})
		p.resume(nil)
		equal(t, "after the resume", []any{p.run.Progress.Continuing, p.run.Progress.Moved}, []any{state.Continuing(""), false})
	}
	for name, c := range map[string]struct {
		does func(*play)
		stop *state.Stop
		want state.Continuing
	}{
		"nothing done":       {func(*play) {}, deadline, state.NoProgress},
		"only cut off":       {func(p *play) { p.start("main"); p.end("main", fail(state.Stopped, "deadline")) }, deadline, state.NoProgress},
		"not asked for":      {moves, &state.Stop{Status: state.Suspended}, ""},
		"a usage limit":      {func(p *play) { moves(p); p.start("main"); p.end("main", limited(0, 0)) }, deadline, ""},
		"a cancel":           {moves, &state.Stop{Status: state.Cancelled, Continuations: 2}, ""},
		"the deadline alone": {moves, deadline, state.Continues},
	} {
		p := newPlay(t, nil)
		c.does(p)
		equal(t, name, p.closed(c.stop).Continuing, c.want)
	}
}
