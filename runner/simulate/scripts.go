package simulate

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/runner"
)

// scripts is the backend for scripts: it runs them, and makes them end in a fixed order.
type scripts Actor

// Run implements runner.Backend.
func (b *scripts) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	s := (*Actor)(b).agentState(o.Agent)
	answer, err := b.scripts.Run(ctx, o, tell)
	b.clock.Wait(ctx, s.number, s.polls.delay(o.State))
	return answer, err
}

// polls counts, by state, how often an agent has run the same scripts without a prompt in between.
// Without a prompt an agent only waits for others, so simulated time must pass, or the run would
// never end.
type polls map[string]int

// maxPoll is the longest simulated duration of a script.
const maxPoll = time.Hour

// delay returns the simulated duration of the next run of a script: 0 for the first one, then one
// second, two, four.
func (p polls) delay(st string) time.Duration {
	n := p[st]
	p[st]++
	if n == 0 {
		return 0
	}
	return min(time.Second<<min(n-1, 20), maxPoll)
}
