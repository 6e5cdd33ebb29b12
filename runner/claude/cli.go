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

// models are the variables with names of models. The names differ between providers.
const models = " ANTHROPIC_MODEL ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION" +
	" ANTHROPIC_DEFAULT_OPUS_MODEL ANTHROPIC_DEFAULT_SONNET_MODEL ANTHROPIC_DEFAULT_HAIKU_MODEL"

// Access describes the CLI's configuration and how it reaches a model.
var Access = program.Access{
	Folder: ".claude", FolderVariable: "CLAUDE_CONFIG_DIR", URLVariable: "ANTHROPIC_BASE_URL", HeaderVariable: "ANTHROPIC_CUSTOM_HEADERS",
	Keys: []program.Key{
		{Input: "anthropic-api-key", Text: "Key for the Anthropic API, from a secret. Agents use it without being able to read it. The variable ANTHROPIC_BASE_URL of the step sets another URL for the API, for example a gateway."},
		{Input: "claude-code-oauth-token", Text: "Token of a Claude subscription, from a secret, instead of an API key. Agents use it without being able to read it.", IsToken: true},
	},
	Logins: []string{"ANTHROPIC_", "CLAUDE_", "AWS_"},
	Providers: []program.Provider{
		{Switch: "CLAUDE_CODE_USE_BEDROCK", Names: "CLAUDE_CODE_SKIP_BEDROCK_AUTH ANTHROPIC_BEDROCK_BASE_URL" + models, Prefixes: []string{"AWS_"}},
		{
			Switch:   "CLAUDE_CODE_USE_VERTEX",
			Names:    "CLAUDE_CODE_SKIP_VERTEX_AUTH CLOUD_ML_REGION GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT GCLOUD_PROJECT" + models,
			Prefixes: []string{"ANTHROPIC_VERTEX_", "VERTEX_REGION_"},
		},
		{Switch: "CLAUDE_CODE_USE_FOUNDRY", Names: "CLAUDE_CODE_SKIP_FOUNDRY_AUTH" + models, Prefixes: []string{"ANTHROPIC_FOUNDRY_", "AZURE_"}},
		{Switch: "ANTHROPIC_BASE_URL", Names: "ANTHROPIC_AUTH_TOKEN ANTHROPIC_CUSTOM_HEADERS" + models},
	},
}

// Transcripts returns the store of the CLI's conversations.
func (b *Backend) Transcripts() runner.Transcripts { return transcriptsOf(b.Env) }
