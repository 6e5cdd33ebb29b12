package claude

import (
	"embed"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

const title = "Claude Code"

//go:embed npm
var npm embed.FS

// Pin is the pinned Claude Code. Its program needs no Node.
var Pin = program.Pin{
	Title: title, Package: "@anthropic-ai/claude-code", Files: program.NPMFiles(npm),
	Program: "node_modules/@anthropic-ai/claude-code-*/claude*", Folder: "raymond-claude-code",
}

// Abilities is what the CLI can do.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendClaude, Title: title, Provider: "anthropic",
		ChoosesID: true, ReportsUSD: true,
	}
}

// Transcripts are the CLI's conversations.
func (b *Backend) Transcripts() runner.Transcripts { return keptOf(b.Env) }
