package codex

import (
	"cmp"
	"path/filepath"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/codex/rollout"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/state"
)

const title = "Codex"

// Abilities is what the CLI can do.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendCodex, Title: title,
		Resumes: true, Branches: true, Cuts: true, Carries: true, HidesKey: true,
		PermissionModes: []string{bypass},
	}
}

// Abilities implements runner.Agent.
func (b *Backend) Abilities() runner.Abilities { return Abilities() }

// Needs implements runner.Agent.
func (b *Backend) Needs() runner.Needs {
	api := program.API{
		Backend: protocol.BackendCodex, Base: program.Variable(b.Env, baseVar), Host: "api.openai.com", Proxy: b.Proxy,
	}
	needs := runner.Needs{Hosts: api.Hosts()}
	home, err := b.rollouts().Home()
	if err != nil {
		return needs
	}
	needs.Logins = []string{filepath.Join(home, "auth.json")}
	needs.Guarded = []string{filepath.Join(home, "auth.json"), filepath.Join(home, "config.toml")}
	// What else is in its folder, as its configuration, is not for agents to write.
	for _, name := range []string{"sessions", "thread-writer-locks", "shell_snapshots", "skills", ".tmp", "tmp", "log"} {
		needs.Write = append(needs.Write, filepath.Join(home, name))
	}
	return needs
}

// rollouts is where the CLI keeps its conversations.
func (b *Backend) rollouts() rollout.Folder { return rollout.Folder{Env: b.Env} }

// thread is the CLI's own id of a conversation: a branch has ours.
func thread(c runner.Conversation) string { return cmp.Or(c.CLI, c.ID) }

// Length implements runner.Transcripts.
func (b *Backend) Length(c runner.Conversation) (int64, bool) { return b.rollouts().Length(thread(c)) }

// Usage implements runner.Transcripts.
func (b *Backend) Usage(c runner.Conversation, from int64) ([]state.Usage, bool) {
	return b.rollouts().Usage(thread(c), from)
}

// Find implements runner.Transcripts.
func (b *Backend) Find(c runner.Conversation, dirs []string) (runner.Stored, bool) {
	return b.rollouts().Find(thread(c), dirs)
}

// Place implements runner.Transcripts.
func (b *Backend) Place(c runner.Conversation, from string) error {
	return b.rollouts().Place(thread(c), from)
}

// Clear implements runner.Transcripts.
func (b *Backend) Clear(c runner.Conversation, only *runner.Mark) error {
	return b.rollouts().Clear(thread(c), only)
}
