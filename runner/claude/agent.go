package claude

import (
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

const title = "Claude Code"

// Abilities is what the CLI can do.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendClaude, Title: title, Provider: "anthropic",
		Resumes: true, Branches: true, ChoosesID: true, Cuts: true, Carries: true,
		TellsUSD: true, LimitsUSD: true, ToolLists: true, HidesKey: true,
		PermissionModes: []string{"plan", "default", "dontAsk", "acceptEdits", "auto", "bypassPermissions"},
	}
}

// Abilities implements runner.Agent.
func (b *Backend) Abilities() runner.Abilities { return Abilities() }

// Kept are the CLI's conversations.
func (b *Backend) Kept() transcripts.Kept { return transcript.Kept(b.Env) }
