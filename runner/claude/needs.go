package claude

import (
	"encoding/json"
	"errors"
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
	if config, err := configFolder(b.Env); err == nil {
		needs.Write = []string{filepath.Join(config, "projects")}
	}
	home, err := program.Home(b.Env)
	if err != nil {
		return needs
	}
	for variable, folder := range providers {
		if program.Variable(b.Env, variable) != "" {
			needs.Read = append(needs.Read, filepath.Join(home, filepath.FromSlash(folder)), program.Variable(b.Env, "GOOGLE_APPLICATION_CREDENTIALS"))
		}
	}
	return needs
}

// kept is what a user keeps in their own folder of the CLI, beside the list of servers.
var kept = []string{".credentials.json", "settings.json", "CLAUDE.md", "rules", "skills", "commands", "agents", "output-styles", "hooks"}

// Furnish makes the CLI's own folder, with what is in that of another environment.
func (b *Backend) Furnish(theirs []string) error {
	from, err := configFolder(theirs)
	if err != nil {
		return err
	}
	to, err := configFolder(b.Env)
	if err != nil {
		return err
	}
	if err := errors.Join(program.Copy(from, to, kept...), os.MkdirAll(filepath.Join(to, "projects"), 0o700)); err != nil {
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
	program.Servers(settings)
	if data, err = json.Marshal(settings); err != nil {
		return err
	}
	return files.Write(filepath.Join(to, ".claude.json"), data, 0o600)
}

// maxList bounds the file with the list of servers, in bytes: the CLI keeps much else there.
const maxList = 64 << 20
