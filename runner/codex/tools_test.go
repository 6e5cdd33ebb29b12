package codex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	ct "github.com/raymond-action/raymond-action/runner/codex/codextest"
)

// TestTools holds what the real CLI lets an agent do under each grant. Commands are only tried
// where it needs no sandbox: not every machine can make one.
func TestTools(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, model("write", agenttest.Reply{Write: "made"}, "shell", agenttest.Reply{Shell: `echo "key=$OPENAI_API_KEY" > made`}))
	b := started(t, s)
	refused := []runner.Refusal{{Use: "apply_patch(made)", Allow: []string{"Edit"},
		Reason: "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings"}}
	for _, c := range []struct {
		name, prompt, mode string
		allowed, forbidden []string
		made               bool
		refusals           []runner.Refusal
	}{
		{"patch", "write", "acceptEdits", nil, nil, true, nil},
		{"patch of a reader", "write", "plan", nil, nil, false, refused},
		{"patch that is allowed", "write", "default", []string{"Edit"}, nil, true, nil},
		{"patch that is forbidden", "write", "bypassPermissions", nil, []string{"Write"}, false, refused},
		{"command", "shell", "bypassPermissions", nil, nil, true, nil},
		{"command that is allowed", "shell", "default", []string{"Bash"}, nil, true, nil},
		{"commands that are forbidden", "shell", "bypassPermissions", nil, []string{"Bash"}, false, nil},
	} {
		o := order(t, c.prompt)
		o.Prompt.Permissions = runner.Permissions{PermissionMode: c.mode, AllowedTools: c.allowed, DisallowedTools: c.forbidden}
		a := answer(t, b, o)
		text, err := os.ReadFile(filepath.Join(o.Dir, "made"))
		if (err == nil) != c.made || strings.Contains(string(text), ct.Key) {
			t.Errorf("%s: got file %q, %v, want one: %v, without the key; the answer is %q", c.name, text, err, c.made, a.Text)
		}
		if diff := cmp.Diff(c.refusals, a.Refusals); diff != "" || len(a.Denied) != len(c.refusals) {
			t.Errorf("%s: denied %q, refusals (-want +got):\n%s", c.name, a.Denied, diff)
		}
	}
}

// TestGrant holds how permission modes and lists of tools are read.
func TestGrant(t *testing.T) {
	for _, c := range []struct {
		mode               string
		allowed, forbidden string
		want               string // settings
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
		g, f := grantOf(runner.PromptOrder{Permissions: runner.Permissions{
			PermissionMode: c.mode, AllowedTools: strings.Fields(c.allowed), DisallowedTools: strings.Fields(c.forbidden),
		}})
		if got := strings.Join(g.settings(), " "); f != nil || got != c.want || len(g.notes) != c.notes {
			t.Errorf("%s, allowed %q, forbidden %q: got %s, notes %q, %v, want %s, notes: %d", c.mode, c.allowed, c.forbidden, got, g.notes, f, c.want, c.notes)
		}
	}
	if _, f := grantOf(runner.PromptOrder{Permissions: runner.Permissions{DisallowedTools: []string{"mcp__github__push"}}}); f == nil || f.Class != runner.Fatal {
		t.Errorf("a tool that can't be forbidden: got %v, want a failure before the start", f)
	}
}

// TestUntrusted: what a working directory says to the agent is not obeyed, where it is not
// trusted.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, model())
	b, wary := started(t, s), started(t, s)
	wary.IsUntrusted = true
	for _, b := range []*Backend{b, wary} {
		o := order(t, "hello")
		for name, text := range map[string]string{
			"AGENTS.md": "PLANTED", ".agents/skills/x/SKILL.md": "---\nname: x\ndescription: PLANTED\n---\n",
			".codex/config.toml": "developer_instructions = \"PLANTED\"\n",
		} {
			path := filepath.Join(o.Dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		answer(t, b, o)
		all := s.Asked()
		if got := strings.Contains(string(all[len(all)-1].Body), "PLANTED"); got == b.IsUntrusted {
			t.Errorf("untrusted: %v: what was planted reached the model: %v", b.IsUntrusted, got)
		}
	}
}

// TestArguments holds the command line where the CLI would take a text for something else.
func TestArguments(t *testing.T) {
	b := &Backend{}
	got := b.args(turn{model: "--help", effort: "a\"\\\x7f\n", resumed: "T", may: grant{shell: true}}, nil)
	for _, want := range []string{"--model=--help", `model_reasoning_effort="a\"\\\u007f\n"`, "agents.enabled=false", "features.plugins=false", `approval_policy="never"`} {
		if !slices.Contains(got, want) {
			t.Errorf("arguments: got %q, want %s", got, want)
		}
	}
	if got[1] != "resume" || got[len(got)-2] != "T" || got[len(got)-1] != "-" {
		t.Errorf("arguments: got %q, want a resume of T with the prompt from stdin", got)
	}
	if slices.ContainsFunc(got, func(a string) bool { return strings.HasPrefix(a, "model_provider") }) {
		t.Errorf("arguments without a key: got %q, want the CLI's own provider", got)
	}
}
