package state_test

import (
	"strings"
	"testing"
	"time"

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
// the time is over that counts from the first of them; the last wait ends with it.
// No retry is counted.
func TestFailuresOfTheServiceAreWaitedOut(t *testing.T) {
	for _, c := range []struct {
		limit *state.Duration
		want  []float64
	}{
		{nil, []float64{1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60, 60, 57}},
		{new(state.Duration(20 * time.Second)), []float64{1, 2, 4, 8, 5}},
		{new(state.Duration(time.Second)), []float64{1}},
	} {
		p := newPlay(t, func(o *state.Options) { o.OverloadWait, o.MaxRetries = c.limit, 1 })
		for p.agent("main").Status == state.Ready {
			p.down(0)
		}
		equal(t, "waits", p.retries(), c.want)
		f := p.agent("main").Failure
		if f.Class != string(state.Service) || !strings.HasPrefix(f.Message, "529 (the service has failed for the ") || !strings.Contains(f.Message, "--overload-wait") {
			t.Errorf("failure: got %+v, want the last error and the flag", f)
		}
		equal(t, "retries counted", p.agent("main").Exec.Retries, 0)
		equal(t, "executions begun", len(bodies[*state.StateStarted](p)), 1)
	}
}

// TestWithoutAWaitTheServiceIsRetried: 0 counts its failures like others.
func TestWithoutAWaitTheServiceIsRetried(t *testing.T) {
	p := newPlay(t, func(o *state.Options) { o.OverloadWait, o.MaxRetries = new(state.Duration(0)), 2 })
	for range 3 {
		p.down(0)
	}
	equal(t, "failure", *p.agent("main").Failure, state.AgentFailure{Class: "service", Message: "529"})
	equal(t, "retry", *bodies[*state.Retry](p)[1], state.Retry{N: 2, Error: "529", BackoffMS: 2000})
}

// TestRetryAfterIsObeyed: the wait that the service asks for goes before a shorter
// one of ours; one beyond the end ends the waiting at once.
func TestRetryAfterIsObeyed(t *testing.T) {
	p := newPlay(t, func(o *state.Options) { o.OverloadWait = new(state.Duration(time.Minute)) })
	p.down(10 * time.Second)
	p.down(time.Millisecond)
	p.down(48 * time.Second)
	equal(t, "waits", p.retries(), []float64{10, 2, 48})
	p = newPlay(t, func(o *state.Options) { o.OverloadWait = new(state.Duration(time.Minute)) })
	p.down(10 * time.Second)
	p.down(51 * time.Second)
	equal(t, "waits", p.retries(), []float64{10})
	if f := p.agent("main").Failure; f == nil || !strings.Contains(f.Message, "asks for a wait until") {
		t.Errorf("failure: got %+v, want what the service asked for", f)
	}
}

// TestAnOutageIsARowOfOneAgentInOneProcess: what ends otherwise in between, another
// agent, and another process each begin anew.
func TestAnOutageIsARowOfOneAgentInOneProcess(t *testing.T) {
	limit := func(o *state.Options) { o.OverloadWait, o.MaxRetries = new(state.Duration(4*time.Second)), 9 }
	for name, between := range map[string]func(*play){
		"nothing":   func(*play) {},
		"an answer": func(p *play) { p.turn("main", goTo("A.md")) },
		"a failure": func(p *play) {
			p.start("main")
			p.end("main", fail(state.Transient, "died"))
			p.now = p.agent("main").NotBefore
		},
		"another process":   func(p *play) { p.resume(nil) },
		"a failed agent":    func(p *play) { p.start("main"); p.end("main", fail(state.Fatal, "no")); p.resume(nil) },
		"an answer, B next": func(p *play) { p.turn("main", goTo("B.md")) },
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

// TestOutageAndTheClock: one that is put back makes no wait longer than the whole.
func TestOutageAndTheClock(t *testing.T) {
	p := newPlay(t, func(o *state.Options) { o.OverloadWait = new(state.Duration(30 * time.Second)) })
	p.down(0)
	p.now = p.now.Add(-24 * time.Hour)
	p.down(40 * time.Second)
	equal(t, "status", p.agent("main").Status, state.Stuck)
}

// TestAnOutageKeepsTheSession: what the failed invocation said in the agent's
// conversation is cut off again.
func TestAnOutageKeepsTheSession(t *testing.T) {
	p := newPlay(t, nil)
	p.turn("main", goTo("B.md"))
	p.down(0)
	plan := p.plan("main")
	equal(t, "plan", []any{plan.Mode, plan.Session.ID, *plan.Cut}, []any{state.Resume, "s1", int64(100)})
}
