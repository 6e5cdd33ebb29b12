package claude

import (
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/state"
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

// transcripts is where the CLI keeps its conversations.
func (b *Backend) transcripts() transcript.Folder { return transcript.Folder{Env: b.Env} }

// Length implements runner.Transcripts.
func (b *Backend) Length(c runner.Conversation) (int64, bool) {
	return b.transcripts().Length(c.ID, c.Dir)
}

// Usage implements runner.Transcripts.
func (b *Backend) Usage(c runner.Conversation, from int64) ([]state.Usage, bool) {
	return b.transcripts().Usage(c.ID, c.Dir, from)
}

// Find implements runner.Transcripts.
func (b *Backend) Find(c runner.Conversation, dirs []string) (runner.Stored, bool) {
	return b.transcripts().Find(c.ID, dirs)
}

// Read implements runner.Transcripts.
func (b *Backend) Read(c runner.Conversation, from, to int64, each func(runner.Message) error) error {
	return b.transcripts().Read(c, from, to, each)
}

// Copy implements runner.Transcripts.
func (b *Backend) Copy(c runner.Conversation, length int64, id, dir string) (cliID string, err error) {
	return "", b.transcripts().Copy(c, length, id, dir)
}

// Place implements runner.Transcripts.
func (b *Backend) Place(c runner.Conversation, from string) error {
	return b.transcripts().Place(c.ID, c.Dir, from)
}

// Clear implements runner.Transcripts.
func (b *Backend) Clear(c runner.Conversation, only *runner.Mark) error {
	return b.transcripts().Clear(c.ID, only)
}
