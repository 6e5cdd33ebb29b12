package simulate

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/runner"
)

// scripts is a backend that runs scripts for real. They end in a fixed order, controlled by the
// clock.
type scripts Actor

// Run implements runner.Backend.
func (b *scripts) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	s := (*Actor)(b).agentState(o.Agent)
	answer, err := b.scripts.Run(ctx, o, tell)
	b.clock.Wait(ctx, s.number, s.polls.delay(o.State))
	return answer, err
}

// polls counts how often an agent has run each script since its last prompt. An agent that repeats
// a script without a prompt in between is waiting for something, so simulated time must pass.
// Otherwise, the run would never end.
type polls map[string]int

// maxPoll is the maximum simulated duration of a script.
const maxPoll = time.Hour

// delay returns the simulated duration of a script and counts the call. The duration is 0 for the
// first run since a prompt, then one second, two seconds, four seconds and so on, up to maxPoll.
func (p polls) delay(st string) time.Duration {
	n := p[st]
	p[st]++
	if n == 0 {
		return 0
	}
	return min(time.Second<<min(n-1, 20), maxPoll)
}
