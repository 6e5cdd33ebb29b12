package clis

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
)

// userFiles are the files in the configuration folders of a user, by path.
var userFiles = map[string]string{
	".claude/.credentials.json": "login", ".claude/CLAUDE.md": "memory", ".claude/projects/work/talk.jsonl": "talk", ".claude/skills/one/SKILL.md": "skill",
	".claude.json":      `{"mcpServers":{"one":{"command":"server","env":{"KEY":"secret-1"},"headers":{"Authorization":"secret-2"}}},"history":["secret-3"]}`,
	".codex/auth.json":  "login",
	".codex/other.json": "secret-4",
	".codex/config.toml": "model = \"m\"\n[mcp_servers.one]\ncommand = \"server\"\nenv = { KEY = \"secret-5\" }\n[mcp_servers.one.http_headers]\nAuthorization = \"secret-6\"\n" +
		"[tools]\nenv = \"kept\"\n",
	".gemini/oauth_creds.json": "login", ".gemini/settings.json": `{"theme":"dark", /* a comment */ "mcpServers":{"one":{"command":"server","env":{"KEY":"secret-7"}}}}`,
}

// wantFiles lists the files that the configuration folder of a run must contain, with their
// contents, by backend name.
var wantFiles = map[string]map[string]string{
	protocol.BackendClaude: {".credentials.json": "login", "CLAUDE.md": "memory", "skills/one/SKILL.md": "skill", ".claude.json": `{"mcpServers":{"one":{"command":"server"}}}`},
	protocol.BackendCodex:  {"auth.json": "login", "config.toml": "model = \"m\"\n[mcp_servers.one]\ncommand = \"server\"\n[tools]\nenv = \"kept\"\n"},
	protocol.BackendGemini: {".gemini/oauth_creds.json": "login", ".gemini/settings.json": `{"mcpServers":{"one":{"command":"server"}},"theme":"dark"}`},
}

// TestAgentCLIsGetPrivateFolders checks the folders that each used CLI gets for a run in a cage.
// They must contain the user's settings, instructions and login, but not the keys of MCP servers
// and not the user's conversations. Files that an earlier segment left there must be replaced.
// Agents must not be able to write the settings. CleanFolders must remove everything except
// conversations.
func TestAgentCLIsGetPrivateFolders(t *testing.T) {
	host := map[string]string{
		protocol.BackendClaude: "api.anthropic.com", protocol.BackendCodex: "api.openai.com", protocol.BackendGemini: "generativelanguage.googleapis.com",
	}
	home := t.TempDir()
	for name, text := range userFiles {
		writeFile(t, filepath.Join(home, filepath.FromSlash(name)), text)
	}
	for _, used := range [][]string{{protocol.BackendClaude}, {protocol.BackendGemini}, {protocol.BackendClaude, protocol.BackendCodex}} {
		c := Config{Env: []string{"HOME=" + home, "USERPROFILE=" + home}, Folder: t.TempDir()}
		for backend, files := range wantFiles {
			for name := range files {
				writeFile(t, filepath.Join(c.Folder, backend, filepath.FromSlash(name)), "planted")
			}
		}
		n, err := PrepareFolders(c, used)
		assert.NilError(t, err)
		for backend, files := range wantFiles {
			isUsed := slices.Contains(used, backend)
			for name, want := range files {
				got, err := os.ReadFile(filepath.Join(c.Folder, backend, filepath.FromSlash(name)))
				if !isUsed {
					// The folder of a CLI that is not used must not change.
					want = "planted"
				}
				assert.Check(t, is.Equal(string(got), want), "used %q: %s of %s", used, name, backend)
				assert.Check(t, err, "used %q: %s of %s", used, name, backend)
			}
			got := slices.Contains(n.Hosts, host[backend])
			assert.Check(t, got == isUsed, "used %q: hosts: got %q, want %s listed: %v", used, n.Hosts, host[backend], isUsed)
		}
		for _, path := range n.Write {
			_, err := os.Stat(path)
			assert.Check(t, err == nil && strings.HasPrefix(path, c.Folder) && !strings.HasSuffix(path, "settings.json"), "used %q: writable: got %s, %v, want an existing path that is no settings file", used, path, err)
		}
		all := allContents(t, c.Folder)
		assert.Check(t, !strings.Contains(all, "secret-") && !strings.Contains(all, "talk"), "used %q: got %s, want neither keys nor conversations", used, all)
		talk := filepath.Join(n.Write[0], "talk.jsonl")
		writeFile(t, talk, "said")
		err = CleanFolders(c)
		if all := allContents(t, c.Folder); err != nil || strings.Contains(all, "login") || strings.Contains(all, "memory") || strings.Contains(all, "server") {
			t.Errorf("used %q: at the end: got %s, %v, want no files of the user", used, all, err)
		}
		_, err = os.Stat(talk)
		assert.Check(t, err, "used %q: at the end: %v", used, err)
	}
	for name, text := range userFiles {
		got, err := os.ReadFile(filepath.Join(home, filepath.FromSlash(name)))
		assert.Check(t, err == nil && string(got) == text, "the user's own %s: got %q, %v, want it unchanged", name, got, err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
}

// allContents returns the contents of all files below a folder as one text.
func allContents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	assert.NilError(t, err)
	return all.String()
}
