package simulate

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/runner"
)

// scripts is the Actor as the backend of scripts: they run, and end in turn.
type scripts Actor

func (b *scripts) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	s := (*Actor)(b).scene(o.Agent)
	answer, err := b.scripts.Run(ctx, o, tell)
	b.clock.Wait(ctx, s.number, s.polls.next(o.State))
	return answer, err
}

// polls counts, by state, how often an agent runs the same scripts without a prompt in between:
// then it waits for other agents, and time must pass, or they would never get on.
type polls map[string]int

// maxPoll is the longest time that a poll takes.
const maxPoll = time.Hour

// next returns how long the next run of a script takes on the simulated clock: none for the first
// one, then a second, two, four.
func (p polls) next(st string) time.Duration {
	n := p[st]
	p[st]++
	if n == 0 {
		return 0
	}
	return min(time.Second<<min(n-1, 20), maxPoll)
}
