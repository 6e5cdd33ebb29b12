package codex

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

const title = "Codex"

//go:embed npm
var npm embed.FS

// Pin is the pinned version of the Codex CLI. The CLI does not need Node. Its npm package also
// contains other programs whose names start with "codex".
var Pin = program.Pin{
	Title: title, Package: "@openai/codex", Files: program.NPMFiles(npm),
	Program: "node_modules/@openai/codex-*/vendor/*/bin/" + program.WindowsOr("codex.exe", "codex"), Folder: "raymond-codex",
}

// Abilities returns the abilities of the CLI.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendCodex, Title: title, Provider: "openai",
	}
}

// Access describes the CLI's configuration and how it reaches a model.
var Access = program.Access{
	Folder: ".codex", FolderVariable: "CODEX_HOME", URLVariable: baseVar,
	Keys:   []program.Key{{Input: "openai-api-key", Text: "Key for the OpenAI API, from a secret, for the agent codex. Agents use it without being able to read it. The variable OPENAI_BASE_URL of the step sets another URL for the API, including /v1."}},
	Logins: []string{"OPENAI_", "CODEX_"}, Providers: []program.Provider{{Switch: baseVar}},
}

// Needs implements runner.AgentCLI.
func (b *Backend) Needs() runner.Needs {
	needs := b.CLI.Needs(b.Source(), program.Variable(b.Env, baseVar), "api.openai.com")
	// Only these paths are writable. Agents must not write other files in this folder, such as the
	// configuration.
	for _, name := range append([]string{installationFile}, writtenFolders...) {
		needs.Write = append(needs.Write, filepath.Join(configDir(b.Env), name))
	}
	return needs
}

// Furnish creates the files and folders that the CLI needs in its configuration folder. It copies
// the user's login, settings and instructions from the configuration folder for the environment
// userEnv. Secrets of MCP servers are removed from the copied settings.
func (b *Backend) Furnish(userEnv []string) error {
	to := configDir(b.Env)
	if err := program.CopyConfig(configDir(userEnv), to, []string{"auth.json", configName, "AGENTS.md", "prompts", "rules", "skills"}, writtenFolders); err != nil {
		return err
	}
	config := filepath.Join(to, configName)
	if data, _, err := files.Read(config, maxConfig); err == nil {
		if err := files.Write(config, withoutSecrets(data), 0o600); err != nil {
			return err
		}
	}
	if err := files.WriteNew(filepath.Join(to, installationFile), []byte(uuid.NewString()), 0o600); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// configName is the name of the CLI's configuration file.
const configName = "config.toml"

// maxConfig is the maximum size of the configuration file in bytes.
const maxConfig = 16 << 20

// withoutSecrets returns the configuration without the environment variables and the HTTP headers
// of MCP servers, which may contain keys. It also removes lines that set several values of a
// server, since some of the values may be keys.
func withoutSecrets(config []byte) []byte {
	var out []byte
	isServer, isKeys := false, false
	for line := range bytes.Lines(config) {
		text := strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\"'", r) {
				return -1
			}
			return r
		}, string(line))
		if strings.HasPrefix(text, "[") {
			isServer = strings.HasPrefix(text, "[mcp_servers")
			isKeys = isServer && secretKeys().MatchString(text)
		}
		key, _, _ := strings.Cut(text, "=")
		if !isKeys && !strings.HasPrefix(key, "mcp_servers") && (!isServer || strings.HasPrefix(text, "[") || !secretKeys().MatchString("."+key+".")) {
			out = append(out, line...)
		}
	}
	return out
}

// secretKeys matches the names of a server's settings that may contain secrets.
var secretKeys = text.Regexp(`\.(env|http_headers)[.\]]`)

// installationFile is a file that the CLI writes in its configuration folder. It contains a random
// id for this installation.
const installationFile = "installation_id"

// writtenFolders are the folders that the CLI writes in its configuration folder.
var writtenFolders = []string{"sessions", "thread-writer-locks", "shell_snapshots", "skills"}

// Transcripts returns the store with the CLI's conversations.
func (b *Backend) Transcripts() runner.Transcripts { return storeOf(b.Env) }
