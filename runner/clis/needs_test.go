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

// theirs are files of a user's own folders of agent CLIs.
var theirs = map[string]string{
	".claude/.credentials.json": "login", ".claude/CLAUDE.md": "memory", ".claude/projects/work/talk.jsonl": "talk", ".claude/skills/one/SKILL.md": "skill",
	".claude.json":      `{"mcpServers":{"one":{"command":"server","env":{"KEY":"secret-1"},"headers":{"Authorization":"secret-2"}}},"history":["secret-3"]}`,
	".codex/auth.json":  "login",
	".codex/other.json": "secret-4",
	".codex/config.toml": "model = \"m\"\n[mcp_servers.one]\ncommand = \"server\"\nenv = { KEY = \"secret-5\" }\n[mcp_servers.one.http_headers]\nAuthorization = \"secret-6\"\n" +
		"[tools]\nenv = \"kept\"\n",
	".gemini/oauth_creds.json": "login", ".gemini/settings.json": `{"theme":"dark", /* a comment */ "mcpServers":{"one":{"command":"server","env":{"KEY":"secret-7"}}}}`,
}

// where are the files, and what they have then, in the folder of a run.
var where = map[string]map[string]string{
	protocol.BackendClaude: {".credentials.json": "login", "CLAUDE.md": "memory", "skills/one/SKILL.md": "skill", ".claude.json": `{"mcpServers":{"one":{"command":"server"}}}`},
	protocol.BackendCodex:  {"auth.json": "login", "config.toml": "model = \"m\"\n[mcp_servers.one]\ncommand = \"server\"\n[tools]\nenv = \"kept\"\n"},
	protocol.BackendGemini: {".gemini/oauth_creds.json": "login", ".gemini/settings.json": `{"mcpServers":{"one":{"command":"server"}},"theme":"dark"}`},
}

// TestAgentCLIsHaveFoldersOfTheirOwn in a cage: with the settings, instructions and the login of the user but neither keys of
// servers nor conversations, for those alone that are used. Of them agents write the conversations, and what one of an earlier
// part of the run has put beside them is gone. When the run ends, all goes but conversations.
func TestAgentCLIsHaveFoldersOfTheirOwn(t *testing.T) {
	host := map[string]string{
		protocol.BackendClaude: "api.anthropic.com", protocol.BackendCodex: "api.openai.com", protocol.BackendGemini: "generativelanguage.googleapis.com",
	}
	home := t.TempDir()
	for name, text := range theirs {
		put(t, filepath.Join(home, filepath.FromSlash(name)), text)
	}
	for _, used := range [][]string{{protocol.BackendClaude}, {protocol.BackendGemini}, {protocol.BackendClaude, protocol.BackendCodex}} {
		c := Config{Env: []string{"HOME=" + home, "USERPROFILE=" + home}, Folder: t.TempDir()}
		for backend, files := range where {
			for name := range files {
				put(t, filepath.Join(c.Folder, backend, filepath.FromSlash(name)), "planted")
			}
		}
		n, err := PrepareFolders(c, used)
		assert.NilError(t, err)
		for backend, files := range where {
			isUsed := slices.Contains(used, backend)
			for name, want := range files {
				got, err := os.ReadFile(filepath.Join(c.Folder, backend, filepath.FromSlash(name)))
				if !isUsed {
					want = "planted" // nobody reads it
				}
				assert.Check(t, is.Equal(string(got), want), "used %q: %s of %s", used, name, backend)
				assert.Check(t, err, "used %q: %s of %s", used, name, backend)
			}
			got := slices.Contains(n.Hosts, host[backend])
			assert.Check(t, got == isUsed, "used %q: hosts: got %q, want %s among them: %v", used, n.Hosts, host[backend], isUsed)
		}
		for _, path := range n.Write {
			_, err := os.Stat(path)
			assert.Check(t, err == nil && strings.HasPrefix(path, c.Folder) && !strings.HasSuffix(path, "settings.json"), "used %q: writable: got %s, %v, want what is there and no settings", used, path, err)
		}
		all := everything(t, c.Folder)
		assert.Check(t, !strings.Contains(all, "secret-") && !strings.Contains(all, "talk"), "used %q: got %s, want no keys and no conversations in it", used, all)
		talk := filepath.Join(n.Write[0], "talk.jsonl")
		put(t, talk, "said")
		err = CleanFolders(c)
		if all := everything(t, c.Folder); err != nil || strings.Contains(all, "login") || strings.Contains(all, "memory") || strings.Contains(all, "server") {
			t.Errorf("used %q: at the end: got %s, %v, want nothing of the user", used, all, err)
		}
		_, err = os.Stat(talk)
		assert.Check(t, err, "used %q: at the end: %v", used, err)
	}
	for name, text := range theirs {
		got, err := os.ReadFile(filepath.Join(home, filepath.FromSlash(name)))
		assert.Check(t, err == nil && string(got) == text, "the user's own %s: got %q, %v, want it as it was", name, got, err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
}

// everything is all that the files of a folder have.
func everything(t *testing.T, dir string) string {
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
