package checkpoints

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Guard returns a backend for prompts that waits until it is known that the run has its key. If
// this is not known within maxWait of StartClaim, prompts start anyway. No prompt starts once
// another job has the key.
func (c *Claim) Guard(b runner.Backend) runner.Backend { return &guarded{b, c} }

// guarded is the backend that Guard returns.
type guarded struct {
	runner.Backend
	claim *Claim
}

func (b *guarded) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	b.claim.Wait(ctx, time.Until(b.claim.begun.Add(maxWait)))
	if b.claim.Conflict() != nil {
		<-ctx.Done() // the run is about to be ended
		return runner.Answer{Process: state.Process{ExitCode: -1}, Cost: state.Cost{Silent: true}}, &runner.Failure{Class: runner.Stopped, Message: "not started: another job drives a run with this key"}
	}
	return b.Backend.Run(ctx, o, tell)
}
