package simulate

import (
	"context"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Agents returns the agent CLIs of the run: all there are, which play the same replies.
func (a *Actor) Agents() map[string]runner.AgentCLI {
	all := map[string]runner.AgentCLI{}
	for _, name := range protocol.Backends() {
		all[name] = &player{actor: a, name: name}
	}
	return all
}

// player is the Actor as an agent CLI. It has no transcripts, and what a run doesn't ask for is not there.
type player struct {
	runner.Transcripts

	actor *Actor
	name  string
}

// Run implements runner.Backend.
func (p *player) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	return p.actor.perform(ctx, o, tell)
}

// Abilities implements runner.Agent: a simulation shows what the workflow does, and nothing
// of it depends on what a CLI can't do.
func (p *player) Abilities() runner.Abilities {
	return runner.Abilities{Backend: p.name, Title: p.name, ChoosesID: true, ReportsUSD: true}
}

// Needs implements runner.Agent.
func (p *player) Needs() runner.Needs { return runner.Needs{} }

// Length implements runner.Transcripts.
func (p *player) Length(runner.Conversation) (int64, bool) { return 0, false }

// Usage implements runner.Transcripts.
func (p *player) Usage(runner.Conversation, int64) ([]state.Usage, bool) { return nil, false }
