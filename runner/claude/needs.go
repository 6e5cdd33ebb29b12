package claude

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// providers maps each variable that makes the CLI use a cloud provider to the directory with the login
// for that provider. The directories are relative to the home directory.
var providers = map[string]string{
	"CLAUDE_CODE_USE_BEDROCK": ".aws", "CLAUDE_CODE_USE_VERTEX": ".config/gcloud", "CLAUDE_CODE_USE_FOUNDRY": ".azure",
}

// Needs returns what the CLI needs in a cage: files, directories and hosts.
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

// copiedNames are the files and directories that are copied from the user's own configuration directory.
// The list of MCP servers is copied separately.
var copiedNames = []string{".credentials.json", "settings.json", "CLAUDE.md", "rules", "skills", "commands", "agents", "output-styles", "hooks"}

// writableDirs are the directories in the CLI's configuration directory to which the CLI and its tools
// write. The directory "projects" contains the conversations, and agents in plan mode write to "plans". CLI
// versions before 2.1.276 can run commands only if they can write to "session-env", and create tasks only
// if they can write to "tasks". Directories with settings are not included, so that an agent can't change
// settings that apply to another agent.
var writableDirs = []string{"projects", "session-env", "tasks", "plans"}

// Furnish creates the CLI's configuration directory. It copies the user's settings
// and, without secrets, the list of MCP servers. theirs is the environment in which the CLI would find these.
func (b *Backend) Furnish(theirs []string) error {
	from, to := configFolder(theirs), configFolder(b.Env)
	if err := program.CopyConfig(from, to, copiedNames, writableDirs); err != nil {
		return err
	}
	// The list of MCP servers is in the home directory unless CLAUDE_CONFIG_DIR is set.
	list := filepath.Join(from, ".claude.json")
	if program.Variable(theirs, "CLAUDE_CONFIG_DIR") == "" {
		list = filepath.Join(filepath.Dir(from), ".claude.json")
	}
	var settings map[string]any
	// If the list can't be read or decoded, settings stays empty. The CLI couldn't use such a list either.
	data, _ := files.ReadTarget(list, maxList)
	_ = json.Unmarshal(data, &settings)
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

// maxList is the maximum size in bytes of the file with the list of MCP servers. The CLI also stores
// other data in it.
const maxList = 64 << 20
