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

// Pin is the pinned Codex CLI. Its program needs no Node; beside it there are others that begin like it.
var Pin = program.Pin{
	Title: title, Package: "@openai/codex", Files: program.NPMFiles(npm),
	Program: "node_modules/@openai/codex-*/vendor/*/bin/" + program.WindowsOr("codex.exe", "codex"), Folder: "raymond-codex",
}

// Abilities is what the CLI can do.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendCodex, Title: title, Provider: "openai",
	}
}

// Needs implements runner.Agent.
func (b *Backend) Needs() runner.Needs {
	needs := b.CLI.Needs(b.Source(), program.Variable(b.Env, baseVar), "api.openai.com")
	// What else is in its folder, as its configuration, is not for agents to write.
	for _, name := range append([]string{installation}, folders...) {
		needs.Write = append(needs.Write, filepath.Join(homeOf(b.Env), name))
	}
	return needs
}

// Furnish makes what the CLI needs and writes in its own folder, with what is in that of another environment.
func (b *Backend) Furnish(theirs []string) error {
	to := homeOf(b.Env)
	if err := program.CopyConfig(homeOf(theirs), to, []string{"auth.json", configName, "AGENTS.md", "prompts", "rules", "skills"}, folders); err != nil {
		return err
	}
	config := filepath.Join(to, configName)
	if data, _, err := files.Read(config, maxConfig); err == nil {
		if err := files.Write(config, withoutKeys(data), 0o600); err != nil {
			return err
		}
	}
	if err := files.WriteNew(filepath.Join(to, installation), []byte(uuid.NewString()), 0o600); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// configName is the file of the CLI's settings.
const configName = "config.toml"

// maxConfig bounds it, in bytes.
const maxConfig = 16 << 20

// withoutKeys returns the settings without what servers of tools are given: variables and headers, in which keys are. A
// line that sets all of a server at once goes whole.
func withoutKeys(config []byte) []byte {
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
			isKeys = isServer && keys().MatchString(text)
		}
		key, _, _ := strings.Cut(text, "=")
		if !isKeys && !strings.HasPrefix(key, "mcp_servers") && (!isServer || strings.HasPrefix(text, "[") || !keys().MatchString("."+key+".")) {
			out = append(out, line...)
		}
	}
	return out
}

// keys are the names of what servers are given.
var keys = text.Regexp(`\.(env|http_headers)[.\]]`)

// What the CLI writes in its own folder: a file with a random id, which tells installations
// apart, and folders.
const installation = "installation_id"

var folders = []string{"sessions", "thread-writer-locks", "shell_snapshots", "skills"}

// Transcripts are the CLI's conversations.
func (b *Backend) Transcripts() runner.Transcripts { return keptOf(b.Env) }
