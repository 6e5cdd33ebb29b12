package codex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// TestGrant checks the settings and notes for permission modes and for lists of tools.
func TestGrant(t *testing.T) {
	for _, c := range []struct {
		mode               string
		allowed, forbidden string
		want               string // expected settings
		notes              int
	}{
		{"plan", "", "", `sandbox_mode="read-only" web_search="disabled"`, 0},
		{"default", "Read Glob", "", `sandbox_mode="read-only" web_search="disabled"`, 0},
		{"dontAsk", "Edit", "", `sandbox_mode="workspace-write" web_search="disabled"`, 0},
		{"acceptEdits", "WebSearch WebFetch", "", `sandbox_mode="workspace-write" web_search="live"`, 0},
		{"auto", "", "", `sandbox_mode="workspace-write" web_search="disabled"`, 1},
		{"acceptEdits", "Bash", "", `sandbox_mode="danger-full-access" web_search="disabled"`, 0},
		{"acceptEdits", "Bash(*)", "", `sandbox_mode="danger-full-access" web_search="disabled"`, 0},
		{"acceptEdits", "Bash(git:*)", "", `sandbox_mode="workspace-write" web_search="disabled"`, 1},
		{"default", "Edit(src/**)", "", `sandbox_mode="read-only" web_search="disabled"`, 1},
		{"bypassPermissions", "Bash(git:*)", "WebSearch Task", `sandbox_mode="danger-full-access" web_search="disabled"`, 0},
		{"bypassPermissions", "", "Bash(rm:*)", `sandbox_mode="danger-full-access" web_search="disabled" features.shell_tool=false`, 1},
		{"bypassPermissions", "", "Write(/etc/**)", `sandbox_mode="read-only" web_search="disabled"`, 1},
		{"bypassPermissions", "", "Read(.env)", `sandbox_mode="danger-full-access" web_search="disabled" features.shell_tool=false features.view_image=false`, 1},
		{"an unknown mode", "", "", `sandbox_mode="read-only" web_search="disabled"`, 0},
	} {
		g, f := newGrant(runner.PromptOrder{Permissions: runner.Permissions{
			PermissionMode: c.mode, AllowedTools: strings.Fields(c.allowed), DisallowedTools: strings.Fields(c.forbidden),
		}}, false)
		got := strings.Join(g.settings(), " ")
		assert.Check(t, f == nil && got == c.want && len(g.notes) == c.notes, "%s, allowed %q, forbidden %q: got %s, notes %q, %v, want %s, notes: %d", c.mode, c.allowed, c.forbidden, got, g.notes, f, c.want, c.notes)
	}
	_, f := newGrant(runner.PromptOrder{Permissions: runner.Permissions{DisallowedTools: []string{"mcp__github__push"}}}, false)
	assert.Check(t, f != nil && f.Class == runner.Fatal, "a tool that can't be forbidden: got %v, want a failure before the start", f)
}

// TestCagedReadOnlyAgentWritesNothing checks the cage of an agent with a read-only sandbox. The
// working directory must be read-only in the cage, since the CLI's own sandbox can't run there. The
// CLI's configuration must be read-only for every agent. A patch that the cage has blocked must be
// reported as denied.
func TestCagedReadOnlyAgentWritesNothing(t *testing.T) {
	home := t.TempDir()
	b := &Backend{CLI: program.CLI{Env: []string{"HOME=" + home, "TMPDIR=/run-of-agents/tmp"}}}
	assert.NilError(t, b.Furnish([]string{"HOME=" + t.TempDir()}))
	c := cage.New(cage.Policy{Writable: append(b.Needs().Write, "/work", "/run-of-agents", os.DevNull)})
	for mode, isWriter := range map[string]bool{"plan": false, "default": false, "acceptEdits": true, "bypassPermissions": true} {
		may, f := newGrant(runner.PromptOrder{Permissions: runner.Permissions{PermissionMode: mode}}, true)
		assert.Check(t, is.Nil(f), mode)
		assert.Check(t, is.Equal(may.settings()[0], `sandbox_mode="danger-full-access"`), mode)
		writable := turn{may: may}.narrowCage(c, b.writableDirs(b.env(nil))).Policy().Writable
		hasTemp := slices.ContainsFunc(writable, func(path string) bool { return cage.IsWithin("/run-of-agents/tmp", path) })
		assert.Check(t, slices.Contains(writable, "/work") == isWriter && hasTemp && slices.Contains(writable, os.DevNull), "%s: writable: got %q, want the working directory: %v", mode, writable, isWriter)
		config := filepath.Join(home, ".codex", "config.toml")
		assert.Check(t, !slices.ContainsFunc(writable, func(path string) bool { return cage.IsWithin(config, path) }), "%s: writable: got %q, want nothing with %s in it", mode, writable, config)
		s := newStream(runner.Order{Cage: c}, turn{may: may}, nil)
		_, _ = s.Write([]byte(`{"type":"item.completed","item":{"id":"1","type":"file_change","changes":[{"path":"/work/made"}],"status":"failed"}}` + "\n"))
		assert.Check(t, (len(s.refused) == 1) != isWriter, "%s: refused: got %+v, want a patch that the cage kept from writing: %v", mode, s.refused, !isWriter)
	}
}

// TestMissingLoginIsRefused checks that the CLI is not started if there is neither a key nor a
// login.
func TestMissingLoginIsRefused(t *testing.T) {
	home := t.TempDir()
	b := &Backend{CLI: program.CLI{Env: []string{"CODEX_HOME=" + home}}}
	f := b.checkLogin(b.Env)
	assert.Check(t, f != nil && f.Class == runner.Fatal && strings.HasPrefix(f.Message, "authentication: "), "without a key: got %+v, want it refused", f)
	assert.Check(t, is.Nil(b.checkLogin(append(b.Env, "OPENAI_API_KEY=k"))), "with a key")
	write(t, filepath.Join(home, "auth.json"), "{}")
	assert.Check(t, is.Nil(b.checkLogin(b.Env)), "with a login")
}

// TestArguments checks arguments with values that the CLI could mistake for flags or settings.
func TestArguments(t *testing.T) {
	b := &Backend{}
	got := b.args(turn{model: "--help", effort: "a\"\\\x7f\n", resumed: "T", may: grant{shell: true}}, nil)
	for _, want := range []string{"--model=--help", `model_reasoning_effort="a\"\\\u007f\n"`, "agents.enabled=false", "features.plugins=false", `approval_policy="never"`} {
		assert.Check(t, is.Contains(got, want), "arguments")
	}
	assert.Check(t, got[1] == "resume" && got[len(got)-2] == "T" && got[len(got)-1] == "-", "arguments: got %q, want a resume of T with the prompt from stdin", got)
	isOf := func(name string) func(string) bool {
		return func(a string) bool { return strings.HasPrefix(a, name) }
	}
	assert.Check(t, !slices.ContainsFunc(got, isOf("model_provider")) && !slices.ContainsFunc(got, isOf("projects=")), "arguments without a key: got %q, want the CLI's own provider, and the directory trusted", got)
	b.IsUntrusted = true
	got = b.args(turn{dir: "/w\"", resumed: "T"}, []string{"OPENAI_API_KEY=secret", "OPENAI_BASE_URL=http://x/v1"})
	for _, want := range []string{
		`projects={"/w\""={trust_level="untrusted"}}`, "project_doc_max_bytes=0", "skills.include_instructions=false", "features.shell_tool=false",
		`model_providers.raymond.base_url="http://x/v1"`, `shell_environment_policy.set.OPENAI_API_KEY=""`,
	} {
		assert.Check(t, is.Contains(got, want), "arguments")
	}
	assert.Check(t, !strings.Contains(strings.Join(got, " "), "secret"), "arguments: got the key in %q", got)
}

// TestVendorToolsAreOffByDefault checks that web search is turned off unless the user allows it,
// since the key proxy would reject the requests.
func TestVendorToolsAreOffByDefault(t *testing.T) {
	for _, tools := range [][]string{nil, {"web_search"}} {
		p, err := keyproxy.Start(keyproxy.Options{Vendors: []keyproxy.Vendor{{API: API{}, Credential: keyproxy.Credential{Text: "k"}}}, Tools: tools, IsOpen: true})
		assert.NilError(t, err)
		defer p.Close()
		b := &Backend{CLI: program.CLI{Proxy: p}}
		got, f := b.prepare(runner.Order{Prompt: runner.PromptOrder{Permissions: runner.Permissions{AllowedTools: []string{"WebSearch"}}}})
		assert.Check(t, f == nil && got.may.web == (tools != nil) && len(got.may.notes) == 1-len(tools), "with %q allowed: got a search %v, notes %q, %v", tools, got.may.web, got.may.notes, f)
	}
}
