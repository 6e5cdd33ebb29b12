package claude

import (
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

const title = "Claude Code"

// Abilities is what the CLI can do.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendClaude, Title: title, Provider: "anthropic",
		ChoosesID: true, TellsUSD: true,
	}
}

// Kept are the CLI's conversations.
func (b *Backend) Kept() transcripts.Kept { return keptOf(b.Env) }
