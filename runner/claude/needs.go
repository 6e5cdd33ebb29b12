package claude

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// providers are the variables that have the CLI ask a provider, and the folder, below the home
// folder, of the login that it then uses.
var providers = map[string]string{
	"CLAUDE_CODE_USE_BEDROCK": ".aws", "CLAUDE_CODE_USE_VERTEX": ".config/gcloud", "CLAUDE_CODE_USE_FOUNDRY": ".azure",
}

// Needs implements runner.Agent.
func (b *Backend) Needs() runner.Needs {
	needs := b.CLI.Needs(b.Source(), program.Variable(b.Env, "ANTHROPIC_BASE_URL"), "api.anthropic.com")
	for _, name := range written {
		needs.Write = append(needs.Write, filepath.Join(configFolder(b.Env), name))
	}
	home := program.Home(b.Env)
	for variable, folder := range providers {
		if program.Variable(b.Env, variable) != "" {
			needs.Read = append(needs.Read, filepath.Join(home, filepath.FromSlash(folder)), program.Variable(b.Env, "GOOGLE_APPLICATION_CREDENTIALS"))
		}
	}
	return needs
}

// kept is what a user keeps in their own folder of the CLI, beside the list of servers.
var kept = []string{".credentials.json", "settings.json", "CLAUDE.md", "rules", "skills", "commands", "agents", "output-styles", "hooks"}

// written are the folders in the CLI's own one that its tools write, beside the conversations in projects: versions before
// 2.1.276 run no command without session-env and make no task without tasks, and agents in plan mode write their plans.
// Settings are not among them: no agent writes what another one obeys.
var written = []string{"projects", "session-env", "tasks", "plans"}

// Furnish makes the CLI's own folder, with what is in that of another environment.
func (b *Backend) Furnish(theirs []string) error {
	from, to := configFolder(theirs), configFolder(b.Env)
	if err := program.CopyConfig(from, to, kept, written); err != nil {
		return err
	}
	// The list of servers is in the home folder, unless a variable names the CLI's own.
	list := filepath.Join(from, ".claude.json")
	if program.Variable(theirs, "CLAUDE_CONFIG_DIR") == "" {
		list = filepath.Join(filepath.Dir(from), ".claude.json")
	}
	var settings map[string]any
	data, _ := files.ReadTarget(list, maxList) // what can't be read of it
	_ = json.Unmarshal(data, &settings)        // the CLI can't read either
	if settings["mcpServers"] == nil {
		return os.RemoveAll(filepath.Join(to, ".claude.json"))
	}
	settings = map[string]any{"mcpServers": settings["mcpServers"]}
	program.RemoveServerSecrets(settings)
	data, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(to, ".claude.json"), data, 0o600)
}

// maxList bounds the file with the list of servers, in bytes: the CLI keeps much else there.
const maxList = 64 << 20
