package claude

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/protocol"
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
	api := program.API{
		Backend: protocol.BackendClaude, Base: program.Variable(b.Env, "ANTHROPIC_BASE_URL"), Host: "api.anthropic.com", Proxy: b.Proxy,
	}
	needs := runner.Needs{Hosts: api.Hosts()}
	if config, err := b.transcripts().Config(); err == nil {
		needs.Write = []string{filepath.Join(config, "projects")}
		needs.Logins = []string{filepath.Join(config, ".credentials.json")}
		needs.Guarded = []string{filepath.Join(config, "settings.json")}
	}
	home, err := program.Home(b.Env)
	if err != nil {
		return needs
	}
	needs.Guarded = append(needs.Guarded, filepath.Join(home, ".claude.json"))
	for variable, folder := range providers {
		if program.Variable(b.Env, variable) != "" {
			needs.Read = append(needs.Read, filepath.Join(home, filepath.FromSlash(folder)))
		}
	}
	return needs
}
