//go:build unix

package command_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clitest"
	"github.com/raymond-action/raymond-action/runner/command"
	"github.com/raymond-action/raymond-action/runner/command/commandtest"
	"github.com/raymond-action/raymond-action/state"
)

// Session ids of conversations.
const (
	first  = "11111111-1111-4111-8111-111111111111"
	second = "22222222-2222-4222-8222-222222222222"
)

// fixture is an agent command, with the directory and the environment in which it runs.
type fixture struct {
	t       *testing.T
	backend *command.Backend
	dir     string
	env     []string // the variables in the orders that run sends (Order.Env)
	cage    *cage.Cage
}

// newFixture returns a fixture for an agent command. env is added to its base environment.
func newFixture(t *testing.T, cmd string, env ...string) *fixture {
	t.Helper()
	home := t.TempDir()
	return &fixture{t, &command.Backend{
		Command: cmd, Env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}, env...),
	}, t.TempDir(), []string{"RAYMOND_STATE=A.md"}, nil}
}

// run sends a prompt to the agent command and returns its answer.
func (p *fixture) run(prompt runner.PromptOrder) (runner.Answer, *runner.Failure) {
	p.t.Helper()
	o := runner.Order{Dir: p.dir, Mark: p.dir, Prompt: prompt, Env: p.env, Cage: p.cage}
	return result(p.backend.Run(p.t.Context(), o, func(runner.Progress) {}))
}

// result returns the answer of a call of Backend.Run, and its error as a failure.
func result(a runner.Answer, err error) (runner.Answer, *runner.Failure) {
	var f *runner.Failure
	errors.As(err, &f)
	return a, f
}

// fresh returns a prompt for a new conversation.
func fresh(text string) runner.PromptOrder {
	return runner.PromptOrder{Text: text, Session: state.Fresh, SessionID: first}
}

// TestProgramGetsPromptAndSettings checks that the program gets the prompt on stdin, and that its
// environment describes the conversation and the settings of the state.
func TestProgramGetsPromptAndSettings(t *testing.T) {
	t.Parallel()
	p := newFixture(t, `cat; pwd; set | grep ^RAYMOND_ | grep -v "^RAYMOND_MARK"`, "RAYMOND_SESSION=outer", "RAYMOND_MODEL=outer")
	file := filepath.Join(strings.TrimPrefix(p.backend.Env[1], "HOME="), ".local/state/raymond/conversations/conversation-"+first+".jsonl")
	common := p.dir + "\n"
	for _, c := range []struct {
		order runner.PromptOrder
		want  string
	}{
		{fresh("-p 'x'\n$(id)\n"), "-p 'x'\n$(id)\n" + common + "RAYMOND_ALLOWED_TOOLS=\nRAYMOND_BUDGET_USD=\nRAYMOND_DISALLOWED_TOOLS=\nRAYMOND_EFFORT=\nRAYMOND_MODEL=\n" +
			"RAYMOND_PERMISSION_MODE=\nRAYMOND_SESSION=\nRAYMOND_SESSION_FILE=" + file + "\nRAYMOND_SESSION_MODE=fresh\nRAYMOND_STATE=A.md\n"},
		{
			runner.PromptOrder{
				Text: "b\n", Session: state.Resume, SessionID: first, CLIID: "its-own", Model: "m", Effort: "high", BudgetCap: state.Dollar / 2,
				Permissions: runner.Permissions{SkipPermissions: true, AllowedTools: []string{"Read", "Bash(git *)"}, DisallowedTools: []string{"Write"}},
			},
			"b\n" + common + "RAYMOND_ALLOWED_TOOLS=$'Read\\nBash(git *)'\nRAYMOND_BUDGET_USD=0.5\nRAYMOND_DISALLOWED_TOOLS=Write\nRAYMOND_EFFORT=high\nRAYMOND_MODEL=m\n" +
				"RAYMOND_PERMISSION_MODE=bypassPermissions\nRAYMOND_SESSION=its-own\nRAYMOND_SESSION_FILE=" + file + "\nRAYMOND_SESSION_MODE=resume\nRAYMOND_STATE=A.md\n",
		},
	} {
		a, f := p.run(c.order)
		if d := cmp.Diff(c.want, a.Text); d != "" || f != nil {
			t.Errorf("%s: what the program sees (-want +got), %v:\n%s", c.order.Session, f, d)
		}
	}
}

// TestExitsAreClassified checks the failure for different ways in which a program can end.
func TestExitsAreClassified(t *testing.T) {
	t.Parallel()
	for cmd, want := range map[string]struct {
		class   runner.Class
		message string
	}{
		"/nowhere/agent":       {runner.Machine, "check --agent-command"},
		"nothing-of-this-name": {runner.Machine, "can't be started: exit code 127"},
		"":                     {runner.Machine, "no agent command"},
		"echo half; exit 3":    {runner.Transient, "ended with exit code 3"},
		"echo why >&2; exit 1": {runner.Transient, "ended with exit code 1: why"},
		"kill -9 $$":           {runner.Transient, "ended with signal SIGKILL (it was killed, probably because memory was short"},
		"true":                 {runner.Transient, "printed nothing"},
		"echo '{\"type\":\"error\",\"class\":\"invalid\",\"message\":\"no\"}'": {runner.Fatal, "bad request: no"},
	} {
		a, f := newFixture(t, cmd).run(fresh("x"))
		if f == nil || f.Class != want.class || !strings.Contains(f.Message, want.message) {
			t.Errorf("%q: got %v, %q, want %s with %q", cmd, f, a.Text, want.class, want.message)
		}
	}
}

// TestStopEndsAllProcesses checks that a stop also ends processes that the shell has started.
func TestStopEndsAllProcesses(t *testing.T) {
	t.Parallel()
	p := newFixture(t, `echo '{"type":"session","id":"s"}'; sleep 1000; echo`)
	ctx, stop := context.WithCancelCause(t.Context())
	o := runner.Order{Dir: p.dir, Mark: p.dir, Prompt: fresh("x")}
	a, f := result(p.backend.Run(ctx, o, func(progress runner.Progress) {
		if progress.CLIID != "" {
			stop(&runner.StopCause{Reason: "cancelled"})
		}
	}))
	assert.Check(t, f != nil && f.Class == runner.Stopped && a.CLIID == "s", "got %v with session %q, want it stopped, with its session", f, a.CLIID)
}

// ask sends a prompt to the small agent and checks its answer.
func (p *fixture) ask(o runner.PromptOrder, want string) (session string) {
	p.t.Helper()
	a, f := p.run(o)
	if f != nil || a.Text != want || a.CLIID == "" || a.Cost.USD != 11*state.Dollar/1e6 {
		p.t.Fatalf("%s %q: got %q in %q, %v, cost %v, want %q", o.Session, o.Text, a.Text, a.CLIID, f, a.Cost, want)
	}
	return a.CLIID
}

// resume returns a prompt for the conversation whose id is first. session is the program's own session id.
func resume(text, session string, cut *int64) runner.PromptOrder {
	return runner.PromptOrder{Text: text, Session: state.Resume, SessionID: first, CLIID: session, Cut: cut}
}

// TestConversationsAreKeptInAFile checks that a conversation can be resumed, branched and cut back
// through its conversation file.
func TestConversationsAreKeptInAFile(t *testing.T) {
	t.Parallel()
	// The model of the small test agent answers with all prompts of the conversation.
	url := commandtest.Vendor.Serve(t, func(q clitest.Request) clitest.Reply {
		return clitest.Reply{Text: strings.Join(q.Prompts, ","), Input: 10, Output: 1}
	})
	p := newFixture(t, commandtest.Vendor.Command(commandtest.Vendor.Install(t, nil)), commandtest.Vendor.Environ(t, url, t.TempDir())...)
	session := p.ask(fresh("one"), "one")
	length, ok := p.backend.Transcripts().Length(runner.Conversation{ID: first, Dir: p.dir})
	assert.Assert(t, ok && length != 0, "length of the file: got %d, %v, want some", length, ok)
	p.ask(resume("two", session, nil), "one,two")
	p.ask(resume("three", session, &length), "one,three")
	branch := runner.PromptOrder{Text: "four", Session: state.Branch, SessionID: second, From: first, CLIID: session}
	assert.Check(t, p.ask(branch, "one,three,four") != session, "session of the branch: got that of the conversation, want its own")
	p.ask(resume("five", session, nil), "one,three,five")
}

// TestSymbolicLinksAreNotFollowed checks an attack in which an agent replaces its conversation file with
// a symbolic link. raymond must neither read nor overwrite the file to which the link points.
func TestSymbolicLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	p := newFixture(t, `echo hi >>"$RAYMOND_SESSION_FILE"; echo '{"type":"session","id":"s"}'`)
	victim := filepath.Join(t.TempDir(), "victim")
	assert.NilError(t, os.WriteFile(victim, []byte("whole"), 0o600))
	folder := filepath.Join(strings.TrimPrefix(p.backend.Env[1], "HOME="), ".local/state/raymond/conversations")
	assert.NilError(t, os.MkdirAll(folder, 0o700))
	file := filepath.Join(folder, "conversation-"+first+".jsonl")
	zero := int64(0)
	for _, o := range []runner.PromptOrder{
		{Session: state.Resume, SessionID: first, CLIID: "s", Cut: &zero},
		{Session: state.Branch, SessionID: second, From: first, CLIID: "x"},
		fresh("x"),
	} {
		_ = os.Remove(file) // the previous iteration left a link
		assert.NilError(t, os.Symlink(victim, file))
		if _, f := p.run(o); o.Session == state.Branch && f == nil {
			t.Error("a branch of what a link leads to: got no failure, want none of it read")
		}
		got, err := os.ReadFile(victim)
		assert.Check(t, is.Equal(string(got), "whole"), "%s: a file elsewhere: got %q, %v, want it as it was", o.Session, got, err)
		if s, ok := p.backend.Transcripts().Find(runner.Conversation{ID: first}, []string{"/"}); ok && o.Session == state.Branch {
			t.Errorf("found through a link: got %+v, want nothing", s)
		}
	}
}

// TestMessages checks that lines in the documented format become messages, and that other lines are
// shown unchanged.
func TestMessages(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "")
	const file = `{"role": "user", "text": "do it"}
{"role": "assistant", "content": [{"text": "so"}, {"text": " be it"}], "model": "m"}

{"role": "tool", "name": "shell", "input": {"command": "ls"}, "content": "a b"}
plain words
{"role": "unknown", "text": "x"}
`
	stored := filepath.Join(t.TempDir(), "stored.jsonl")
	assert.NilError(t, errors.Join(os.WriteFile(stored, []byte(file), 0o600), p.backend.Transcripts().Place(runner.Conversation{ID: first}, stored)))
	var got []runner.Message
	err := p.backend.Transcripts().Read(runner.Conversation{ID: first}, 0, -1, func(m runner.Message) error {
		got = append(got, m)
		return nil
	})
	at := func(text string) int64 { return int64(strings.Index(file, text)) }
	want := []runner.Message{
		{From: runner.FromUser, Text: "do it"},
		{Offset: at(`{"role": "assistant"`), From: runner.FromAgent, Text: "so be it", Model: "m"},
		{Offset: at(`{"role": "tool"`), From: runner.FromTool, Text: "a b", Tool: "shell", Input: `{"command": "ls"}`},
		{Offset: at("plain"), From: runner.FromCLI, Text: "plain words"},
		{Offset: at(`{"role": "unknown"`), From: runner.FromCLI, Text: `{"role": "unknown", "text": "x"}`},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("messages: %v (-want +got):\n%s", err, diff)
	}
}
