package claude

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// providers are the variables that make the CLI use a cloud provider, and the directories, relative to
// the home directory, of the login that it then needs.
var providers = map[string]string{
	"CLAUDE_CODE_USE_BEDROCK": ".aws", "CLAUDE_CODE_USE_VERTEX": ".config/gcloud", "CLAUDE_CODE_USE_FOUNDRY": ".azure",
}

// Needs returns the requirements of the CLI in a cage.
func (b *Backend) Needs() runner.Needs {
	needs := b.CLI.Needs(b.Source(), program.Variable(b.Env, "ANTHROPIC_BASE_URL"), "api.anthropic.com")
	for _, name := range writableDirs {
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

// copiedNames are the names in a user's own configuration directory that are copied; the list of MCP
// servers is separate.
var copiedNames = []string{".credentials.json", "settings.json", "CLAUDE.md", "rules", "skills", "commands", "agents", "output-styles", "hooks"}

// writableDirs are the directories in the CLI's configuration directory to which its tools write, apart
// from the conversations in projects: before 2.1.276, the CLI runs no command without session-env and
// creates no task without tasks, and agents in plan mode write their plans. Settings are not included,
// so that no agent can write what another one obeys.
var writableDirs = []string{"projects", "session-env", "tasks", "plans"}

// Furnish creates the CLI's configuration directory, with copies from the directory of another environment.
func (b *Backend) Furnish(theirs []string) error {
	from, to := configFolder(theirs), configFolder(b.Env)
	if err := program.CopyConfig(from, to, copiedNames, writableDirs); err != nil {
		return err
	}
	// The list of MCP servers is in the home directory, unless CLAUDE_CONFIG_DIR names another directory.
	list := filepath.Join(from, ".claude.json")
	if program.Variable(theirs, "CLAUDE_CONFIG_DIR") == "" {
		list = filepath.Join(filepath.Dir(from), ".claude.json")
	}
	var settings map[string]any
	data, _ := files.ReadTarget(list, maxList) // a list that can't be read
	_ = json.Unmarshal(data, &settings)        // is unusable for the CLI too
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

// maxList bounds the file with the list of MCP servers, in bytes. The CLI stores other data there too.
const maxList = 64 << 20
