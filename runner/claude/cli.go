package claude

import (
	"embed"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

const cliTitle = "Claude Code"

//go:embed npm
var npm embed.FS

// Pin describes the pinned version of Claude Code. Its program doesn't need Node.
var Pin = program.Pin{
	Title: cliTitle, Package: "@anthropic-ai/claude-code", Files: program.NPMFiles(npm),
	Program: "node_modules/@anthropic-ai/claude-code-*/claude*", Folder: "raymond-claude-code",
}

// Abilities returns what the CLI supports.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendClaude, Title: cliTitle, Provider: "anthropic",
		ChoosesID: true, ReportsUSD: true,
	}
}

// Transcripts returns the store of the CLI's conversations.
func (b *Backend) Transcripts() runner.Transcripts { return transcriptsOf(b.Env) }
