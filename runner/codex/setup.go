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

// Pin is the pinned Codex CLI. It needs no Node. Its folder contains other programs whose names
// start with "codex".
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

// Needs implements runner.AgentCLI.
func (b *Backend) Needs() runner.Needs {
	needs := b.CLI.Needs(b.Source(), program.Variable(b.Env, baseVar), "api.openai.com")
	// Agents must not write other files in this folder, for example the configuration.
	for _, name := range append([]string{installationFile}, writtenFolders...) {
		needs.Write = append(needs.Write, filepath.Join(configDir(b.Env), name))
	}
	return needs
}

// Furnish creates the files and folders that the CLI needs and writes in its configuration folder,
// with copies from the folder of the environment userEnv.
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

// maxConfig is the maximum size of that file in bytes.
const maxConfig = 16 << 20

// withoutSecrets returns the configuration without the environment variables and HTTP headers of
// MCP servers, which contain keys. A line that sets several values of a server at once is removed.
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

// secretKeys matches the names of settings that contain secrets of servers.
var secretKeys = text.Regexp(`\.(env|http_headers)[.\]]`)

// Files that the CLI writes in its configuration folder: a file with a random id for this
// installation, and folders.
const installationFile = "installation_id"

var writtenFolders = []string{"sessions", "thread-writer-locks", "shell_snapshots", "skills"}

// Transcripts returns the CLI's conversations.
func (b *Backend) Transcripts() runner.Transcripts { return storeOf(b.Env) }
