package simulate

import (
	"context"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Agents returns a scripted agent CLI for each backend name. All of them use the same replies.
func (a *Actor) Agents() map[string]runner.AgentCLI {
	all := map[string]runner.AgentCLI{}
	for _, name := range protocol.Backends() {
		all[name] = &scriptedCLI{actor: a, name: name}
	}
	return all
}

// scriptedCLI is an agent CLI that gets its answers from an Actor. The embedded Transcripts is nil,
// because a simulated run has no transcripts and calls only the methods that are defined here.
type scriptedCLI struct {
	runner.Transcripts

	actor *Actor
	name  string
}

// Run implements runner.Backend.
func (p *scriptedCLI) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	return p.actor.runPrompt(ctx, o, tell)
}

// Abilities implements runner.AgentCLI. The scripted CLI claims to have every ability, so that the
// result of a simulation doesn't depend on the limitations of a CLI.
func (p *scriptedCLI) Abilities() runner.Abilities {
	return runner.Abilities{Backend: p.name, Title: p.name, ChoosesID: true, ReportsUSD: true}
}

// Needs implements runner.AgentCLI.
func (p *scriptedCLI) Needs() runner.Needs { return runner.Needs{} }

// Length implements runner.Transcripts.
func (p *scriptedCLI) Length(runner.Conversation) (int64, bool) { return 0, false }

// Usage implements runner.Transcripts.
func (p *scriptedCLI) Usage(runner.Conversation, int64) ([]state.Usage, bool) { return nil, false }
