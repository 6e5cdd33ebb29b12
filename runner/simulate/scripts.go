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
	took, poll := s.polls.count(o.State, b.clock.News())
	b.clock.Wait(ctx, s.number, took, poll)
	if !poll {
		s.polls.own++
	}
	return answer, err
}

// polls counts how often an agent runs the same scripts again without a prompt in
// between: then it waits for other agents, and time must pass, or they would
// never get on.
type polls struct {
	fruitless map[string]int // by state: runs since the last news of others
	own       int            // news that are the agent's own
	others    int            // news of others at the last run
}

// maxPoll is the longest time between two polls.
const maxPoll = time.Hour

// forget begins anew: a prompt can change anything.
func (p *polls) forget() { clear(p.fruitless) }

// count returns how long a run of a script takes on the simulated clock, and
// whether it is a poll, which ends early when anything else ends. Polls take
// twice as long each until there are news of others: a second, two, four.
func (p *polls) count(st string, news int) (took time.Duration, poll bool) {
	if others := news - p.own; others != p.others {
		p.others = others
		for name := range p.fruitless {
			p.fruitless[name] = 0
		}
	}
	n, again := p.fruitless[st]
	if !again {
		p.fruitless[st] = 0
		return 0, false
	}
	p.fruitless[st] = n + 1
	return min(time.Second<<min(n, 20), maxPoll), true
}
