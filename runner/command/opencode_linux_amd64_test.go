//go:build world

package command_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clitest"
	"github.com/raymond-action/raymond-action/runner/command/commandtest"
	"github.com/raymond-action/raymond-action/state"
)

// newOpenCode returns a fixture that runs the real OpenCode with the script docs/opencode.mjs.
func newOpenCode(t *testing.T) *fixture {
	t.Helper()
	url := commandtest.Chat(t, func(q clitest.Request) clitest.Reply {
		r := clitest.Reply{Text: strings.Join(q.Prompts, "|"), Input: 70, Cached: 30, Output: 20}
		switch last := q.LastPrompt(); {
		case q.Output != "":
			r.Text = "It says " + q.Output
		case strings.Contains(last, "write"):
			r.Shell, r.Text = "echo made >made; cat made", "I write."
		case strings.Contains(last, "tools"):
			r.Text += " " + strings.Join(q.Tools, ",")
		}
		return r
	})
	script, err := filepath.Abs("../../docs/opencode.mjs")
	assert.NilError(t, err)
	path := commandtest.OpenCode(t) + ":" + filepath.Dir(installtest.Node(t)) + ":" + os.Getenv("PATH")
	return newFixture(t, `exec node "$SCRIPT"`, append(commandtest.OpenCodeEnviron(url, t.TempDir()), "PATH="+path, "SCRIPT="+script)...)
}

// TestOpenCode checks that the documented script works with new, resumed and branched conversations,
// with tools, and that it reports costs and errors.
func TestOpenCode(t *testing.T) {
	t.Parallel()
	p := newOpenCode(t)
	one := fresh("write one\n")
	one.Model = "scripted/m1"
	a, f := p.run(one)
	if made, _ := os.ReadFile(filepath.Join(p.dir, "made")); f != nil || string(made) != "made\n" || !strings.HasPrefix(a.Text, "It says made") {
		t.Fatalf("fresh: got %q, %v, and the file %q", a.Text, f, made)
	}
	want := state.Cost{Kind: state.Exact, USD: 2 * 113 * state.Dollar / 1e6, Usage: []state.ModelCost{{
		CostUSD: 2 * 113 * state.Dollar / 1e6, Usage: state.Usage{Model: "scripted/m1", Input: 140, CacheRead: 60, Output: 40},
	}}}
	assert.Check(t, is.DeepEqual(a.Cost, want), "cost of two requests")
	session := a.CLIID
	next := resume("two\n", session, nil)
	next.Model = "scripted/free" // a model without a price in OpenCode's configuration
	a, f = p.run(next)
	if f != nil || a.Text != "write one\n|two\n" || a.CLIID != session || a.Cost.Kind != state.InTokens {
		t.Errorf("resumed: got %q in %s, %v, %v, want both prompts in %s, in tokens", a.Text, a.CLIID, f, a.Cost, session)
	}
	branch := runner.PromptOrder{Text: "tools", Session: state.Branch, SessionID: second, From: first, CLIID: session}
	branch.Permissions.DisallowedTools = []string{"Bash(git push *)", "Write"}
	a, f = p.run(branch)
	text, tools, _ := strings.Cut(a.Text, "|tools ")
	if f != nil || text != "write one\n|two\n" || a.CLIID == "" || a.CLIID == session {
		t.Errorf("branched: got %q in %s, %v, want the conversation so far, not in %s", a.Text, a.CLIID, f, session)
	}
	if names := strings.Split(tools, ","); slices.Contains(names, "bash") || slices.Contains(names, "write") || !slices.Contains(names, "read") {
		t.Errorf("tools: got %q, want neither bash nor write", names)
	}
	const gone = "ses_dfb6770f4ffeK4tLNCS50Zy7gh"
	if a, f := p.run(resume("x", gone, nil)); f == nil || f.Message != "session gone: "+gone {
		t.Errorf("a session that is not there: got %v, %q, want that it is gone", f, a.Text)
	}
}
