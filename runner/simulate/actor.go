package simulate

import (
	"context"
	"fmt"
	"sync"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Actor plays the agents of a run. It implements runner.Backend for prompts,
// runner.Sessions and runner.Verifier.
type Actor struct {
	replies *Replies
	clock   *Clock
	checks  runner.Verifier // for replies that leave the verdict to the commands

	mu    sync.Mutex // guards what follows
	taken map[string]int
	last  map[string]Reply // of each agent
}

var (
	_ runner.Backend  = (*Actor)(nil)
	_ runner.Sessions = (*Actor)(nil)
	_ runner.Verifier = (*Actor)(nil)
)

// NewActor returns an Actor that gives the replies, each once.
func NewActor(r *Replies, clock *Clock, checks runner.Verifier) *Actor {
	return &Actor{replies: r, clock: clock, checks: checks, taken: map[string]int{}, last: map[string]Reply{}}
}

// Run implements runner.Backend.
func (a *Actor) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	reply, ok := a.take(o)
	if !ok {
		return runner.Answer{}, &runner.Failure{Class: runner.Fatal, Message: fmt.Sprintf(
			"the replies file has no reply left for state %s of agent %s", o.State, o.Agent)}
	}
	a.clock.Sleep(ctx, reply.Delay.Duration)
	if ctx.Err() != nil {
		return runner.Answer{}, &runner.Failure{Class: runner.Stopped, Message: context.Cause(ctx).Error()}
	}
	if o.Verbose && reply.Text != "" {
		tell(runner.Progress{Text: reply.Text})
	}
	answer := runner.Answer{
		Text: reply.Text, SessionID: o.SessionID, Model: "scripted", Turns: 1, Denied: reply.Denied,
		Cost: state.Cost{Kind: state.Exact, USD: reply.Cost.USD},
	}
	if reply.Error != nil {
		return answer, &runner.Failure{Class: runner.Class(reply.Error.Class), Message: reply.Error.Message}
	}
	return answer, nil
}

// take returns the next reply for an order.
func (a *Actor) take(o runner.Order) (Reply, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range []string{o.Agent + "/" + o.State, o.State} {
		list, n := a.replies.States[key], a.taken[key]
		if n < len(list) {
			a.taken[key]++
			a.last[o.Agent] = list[n]
			return list[n], true
		}
	}
	return Reply{}, false
}

// Unused names the lists of which replies are left, with how many.
func (a *Actor) Unused() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := map[string]int{}
	for key, list := range a.replies.States {
		if n := len(list) - a.taken[key]; n > 0 {
			left[key] = n
		}
	}
	return left
}

// Length implements runner.Sessions: there are no transcripts.
func (a *Actor) Length(string, string) (int64, bool) { return 0, false }

// Usage implements runner.Sessions.
func (a *Actor) Usage(string, string, int64) ([]state.Usage, bool) { return nil, false }

// Verify implements runner.Verifier: with the exit codes of the reply, or by
// running the commands.
func (a *Actor) Verify(ctx context.Context, c runner.Checks) state.Verification {
	a.mu.Lock()
	codes := a.last[c.Agent].Checks
	a.mu.Unlock()
	if codes == nil {
		return a.checks.Verify(ctx, c)
	}
	var v state.Verification
	for i, cmd := range c.Commands {
		v.Results = append(v.Results, state.CommandResult{Cmd: cmd, RC: codes[min(i, len(codes)-1)]})
	}
	return v
}

// Digest implements runner.Verifier.
func (a *Actor) Digest(dir string, patterns []string) map[string]string {
	return a.checks.Digest(dir, patterns)
}
