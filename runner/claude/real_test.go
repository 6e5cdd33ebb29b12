package claude

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	ct "github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/runner/claude/pin"
	"github.com/raymond-action/raymond-action/state"
)

// The tests of this file run the real CLI against a scripted API. Each start
// takes more than half a second of processor time, so they are few.

func realCLI(t testing.TB, s *ct.Server, env ...string) *Backend {
	t.Helper()
	return &Backend{Path: ct.Install(t), Env: append(ct.Env(t, s), env...), ResultGrace: patience}
}

// answer runs an order that must succeed.
func answer(t *testing.T, b *Backend, o runner.Order) runner.Answer {
	t.Helper()
	a, f, _ := run(t.Context(), t, b, o)
	if f != nil {
		t.Fatalf("%s %q: got failure %+v, want an answer", o.Prompt.Session, o.Prompt.Text, f)
	}
	if a.SessionID != o.Prompt.SessionID {
		t.Fatalf("%s %q: got session %q, want %q", o.Prompt.Session, o.Prompt.Text, a.SessionID, o.Prompt.SessionID)
	}
	return a
}

// length is that of a transcript that must exist.
func length(t *testing.T, b *Backend, o runner.Order) int64 {
	t.Helper()
	n, ok := b.transcripts().Length(o.Prompt.SessionID, o.Dir)
	if !ok || n == 0 {
		t.Fatalf("length of session %s in %s: got %d, %v, want some", o.Prompt.SessionID, o.Dir, n, ok)
	}
	return n
}

// saw compares what the model was shown last.
func saw(t *testing.T, s *ct.Server, what, want string) {
	t.Helper()
	if diff := cmp.Diff(want, s.Last(t).Conversation()); diff != "" {
		t.Errorf("%s: conversation (-want +got):\n%s", what, diff)
	}
}

// TestContractConversations holds what the model sees after each way to begin or go on
// with a session, and what the invocation reports. The directory's name is one
// that the CLI abbreviates.
func TestContractConversations(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, ct.On("one", ct.Reply{Blocks: []ct.Block{ct.Thinking("hm"), ct.Text("first "), ct.Text("answer")},
		Usage: &ct.Usage{Input: 1000, Output: 100, CacheWrite: 10, CacheRead: 20}}), ct.On("", ct.Say("later answer")))
	b := realCLI(t, s)
	o := order(t, "one")
	o.Dir = filepath.Join(o.Dir, "Ünïcödé 😀", strings.Repeat("long.", 40))
	must(t, os.MkdirAll(o.Dir, 0o755))
	target, err := filepath.EvalSymlinks(o.Dir)
	must(t, err)
	o.Prompt.Model, o.DebugDir = "sonnet", t.TempDir()

	a := answer(t, b, o)
	saw(t, s, "fresh", "user: one\n")
	used := state.Usage{Model: s.Last(t).Model, Input: 1000, Output: 100, CacheWrite: 10, CacheRead: 20}
	usd := reported(t, o.DebugDir) // the tables of prices differ between versions
	if ct.Version(t) == pin.CLI.Version() {
		if pinned, _ := state.ParseUSD("0.003027"); usd != pinned {
			t.Errorf("fresh: the pinned CLI reports $%s, want $%s", usd, pinned)
		}
	}
	want := state.Cost{Kind: state.Exact, USD: usd, Usage: []state.ModelCost{{Usage: used, CostUSD: usd}}}
	a.Cost.Reached = nil // how far newer versions have counted
	if diff := cmp.Diff(want, a.Cost); diff != "" || a.Text != "first answer" || s.Last(t).APIKey != ct.Key {
		t.Errorf("fresh: got %q, cost (-want +got):\n%s", a.Text, diff)
	}
	entry := length(t, b, o)
	if found, _ := b.transcripts().Find(o.Prompt.SessionID, []string{"/elsewhere", target}); found.Dir != target {
		t.Errorf("transcript of a session in %s: got %+v, want it where that directory's are", target, found)
	}
	if got, ok := b.transcripts().Usage(o.Prompt.SessionID, o.Dir, 0); !ok || len(got) != 1 || got[0] != used {
		t.Errorf("usage in the transcript: got %+v, %v, want %+v", got, ok, used)
	}

	o.Prompt.Session, o.Prompt.Text, o.DebugDir = state.Resume, "two", ""
	answer(t, b, o)
	saw(t, s, "resume", "user: one\nassistant: first \nanswer\nuser: two\n")

	o.Prompt.Cut, o.Prompt.Text = &entry, "two again"
	answer(t, b, o)
	saw(t, s, "resume after a cut", "user: one\nassistant: first \nanswer\nuser: two again\n")

	parent := length(t, b, o)
	branch := o
	branch.Prompt.Session, branch.Prompt.From, branch.Prompt.SessionID, branch.Prompt.Cut, branch.Prompt.Text = state.Branch, o.Prompt.SessionID, uuid.NewString(), nil, "three"
	answer(t, b, branch)
	saw(t, s, "branch", "user: one\nassistant: first \nanswer\nuser: two again\nassistant: later answer\nuser: three\n")
	if now := length(t, b, o); now != parent {
		t.Errorf("branch: the caller's transcript grew from %d to %d bytes", parent, now)
	}
	length(t, b, branch)
}

// reported is the cost that the CLI itself tells of a process that began a
// conversation.
func reported(t *testing.T, debugDir string) (usd state.USD) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(debugDir, "stdout.jsonl"))
	must(t, err)
	for line := range strings.Lines(string(data)) {
		var r struct {
			Type  string
			Total json.Number `json:"total_cost_usd"`
		}
		if json.Unmarshal([]byte(line), &r) == nil && r.Type == "result" {
			if usd, err = state.ParseUSD(r.Total.String()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return usd
}

// TestContractProjectFiles: what an agent writes into the CLI's files of the project holds
// from its next turn on. The CLI reads them when it starts, and only then.
func TestContractProjectFiles(t *testing.T) {
	t.Parallel()
	write := func(path, text string) ct.Block {
		return ct.ToolUse("Write", map[string]any{"file_path": path, "content": text})
	}
	s := ct.NewServer(t, ct.On("one", ct.Do(
		write("CLAUDE.md", "Speak like a pirate.\n"),
		write(".claude/settings.json", `{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch hooked"}]}]}}`),
		write(".claude/skills/sail/SKILL.md", "---\nname: sail\ndescription: How to sail\n---\nHoist the sails.\n")), ct.Say("written")),
		ct.On("two", ct.Do(ct.ToolUse("Skill", map[string]any{"skill": "sail"})), ct.Say("done")))
	b, o := realCLI(t, s), order(t, "one")
	o.Prompt.Permissions.SkipPermissions = true
	answer(t, b, o)
	o.Prompt.Session, o.Prompt.Text = state.Resume, "two"
	answer(t, b, o)
	last := s.Last(t)
	if !strings.Contains(strings.Join(last.Reminders, "\n"), "Speak like a pirate.") {
		t.Error("the next turn: got nothing of the CLAUDE.md that the turn before wrote")
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "hooked")); err != nil {
		t.Errorf("the next turn: the hook that the turn before wrote did not run: %v", err)
	}
	if strings.Count(last.Conversation(), "Hoist the sails.") < 2 { // as it was written, and as it was used
		t.Errorf("the next turn: got nothing of the skill that the turn before wrote:\n%s", last.Conversation())
	}
}

// TestContractTools holds that an agent can work within its permissions, and that
// what it was refused is reported.
func TestContractTools(t *testing.T) {
	t.Parallel()
	o := order(t, "work")
	o.Prompt.Permissions.PermissionMode, o.DebugDir = "acceptEdits", t.TempDir()
	o.Prompt.Permissions.AllowedTools, o.Prompt.Permissions.DisallowedTools = []string{"Bash(python3 *)", "Bash(perl -e 1, 2)"}, []string{"Bash(python3 -V)"}
	file := filepath.Join(o.Dir, "out.txt")
	s := ct.NewServer(t, ct.On("work",
		ct.Do(ct.Text("I write"), ct.ToolUse("Write", map[string]any{"file_path": file, "content": "written"})),
		ct.Do(ct.Bash("python3 --help"), ct.Bash("perl -v"), ct.Bash("python3 -V")),
		ct.Say("<goto>", "DONE</goto>")))
	a, f, told := run(t.Context(), t, realCLI(t, s), o)
	if f != nil || a.Text != "<goto>DONE</goto>" {
		t.Fatalf("work: got %q, %v, want \"<goto>DONE</goto>\"", a.Text, f)
	}
	if data, err := os.ReadFile(file); string(data) != "written" {
		t.Errorf("the agent's file: got %q, %v, want \"written\"", data, err)
	}
	if diff := cmp.Diff([]string{"Bash(perl -v)", "Bash(python3 -V)"}, a.Denied); diff != "" {
		t.Errorf("denied (-want +got):\n%s", diff)
	}
	want := []string{"I write", "Write(" + file + ")", "Bash(python3 --help)", "Bash(perl -v)", "Bash(python3 -V)", "<goto>", "DONE</goto>"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	for _, name := range []string{"prompt.md", "command.json", "stdout.jsonl", "stderr.txt"} {
		if _, err := os.Stat(filepath.Join(o.DebugDir, name)); err != nil {
			t.Errorf("debug files: %v", err)
		}
	}
}

// ofCutStream is the class of an answer whose stream ends early. Versions up to
// 2.1.278 take what came for the whole answer, with a null for its stop_reason; newer
// ones ask again, and then report an error of the connection.
func ofCutStream(t *testing.T) runner.Class {
	t.Helper()
	if ct.Since(t, "2.1.279") {
		return runner.Service
	}
	return runner.Transient
}

// TestContractErrors holds how the real CLI's errors are classed, and that those
// which no retry cures are not retried.
func TestContractErrors(t *testing.T) {
	tests := []struct {
		isFull   bool // only where everything is tried: TestRecordedStreams has a recording
		name     string
		reply    ct.Reply
		set      func(*runner.Order)
		want     runner.Class
		resumed  bool // the failure can be continued
		requests int  // at most
	}{
		{false, "401", ct.Fail(401), nil, runner.Fatal, false, 3},
		{false, "529", ct.Fail(529), nil, runner.Service, false, 2},
		{true, "404", ct.Fail(404), func(o *runner.Order) { o.Prompt.Model = "claude-nope-1" }, runner.Fatal, false, 2},
		{true, "500", ct.Fail(500), nil, runner.Service, false, 2},
		{true, "400", ct.Fail(400), nil, runner.Fatal, false, 6},
		{true, "credit", ct.Reply{Status: 400, Message: "Your credit balance is too low to access the Anthropic API."}, nil, runner.Fatal, false, 2},
		{true, "429", ct.Fail(429), nil, runner.Service, false, 2},
		{true, "refusal", ct.Reply{Blocks: []ct.Block{ct.Text("no")}, StopReason: "refusal"}, nil, runner.Fatal, false, 2},
		{true, "error in the stream", ct.Reply{Blocks: []ct.Block{ct.Text("half")}, StreamError: "overloaded_error"}, nil, runner.Service, false, 4},
		{false, "cut stream", ct.Reply{Blocks: []ct.Block{ct.Text("half")}, NoStop: true}, nil, ofCutStream(t), false, 4},
		{false, "budget", ct.Do(ct.Bash("echo hi")), func(o *runner.Order) { o.Prompt.BudgetCap = state.Dollar / 1000 }, runner.OverBudget, true, 2},
		{false, "session gone", ct.Say("no"), func(o *runner.Order) { o.Prompt.Session = state.Resume }, runner.Fatal, false, 0},
	}
	for _, tt := range tests {
		if tt.isFull && !ct.IsFull() {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := ct.NewServer(t, ct.On("", tt.reply))
			b := realCLI(t, s)
			o := order(t, "hello")
			if tt.set != nil {
				tt.set(&o)
			}
			if tt.name == "401" { // the CLI alone would go on for three minutes
				b.Env = append(b.Env, "CLAUDE_CODE_MAX_RETRIES=10")
			}
			_, f, _ := run(t.Context(), t, b, o)
			if f == nil || f.Class != tt.want || f.Continue != tt.resumed {
				t.Errorf("got %+v, want class %s, continue %v", f, tt.want, tt.resumed)
			}
			if got := len(s.Requests()); got > tt.requests {
				t.Errorf("requests: got %d, want at most %d", got, tt.requests)
			}
		})
	}
}

// TestContractLatePrompt: a CLI that stood still just when it began to read, as on a busy machine,
// believes that there is no prompt. It is tried again.
func TestContractLatePrompt(t *testing.T) {
	t.Parallel()
	b := realCLI(t, ct.NewServer(t, ct.On("", ct.Say("hi"))))
	b.Path = agenttest.Unheard(t, b.Path)
	if _, f, _ := run(t.Context(), t, b, order(t, "x")); f == nil || f.Class != runner.Transient || !strings.Contains(f.Message, "took its prompt for missing") {
		t.Errorf("got %+v, want a failure that passes", f)
	}
}

// TestContractStop stops the CLI while a tool runs that has moved to a
// session of its own. Whatever still lives would hold the connection open.
func TestContractStop(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	s := ct.NewServer(t, ct.On("wait", ct.Do(ct.Bash(
		"exec 7<>/dev/tcp/127.0.0.1/"+port+"; setsid sleep 300 & trap '' INT; sleep 300")), ct.Say("it ended")))
	o := order(t, "wait")
	o.Prompt.Permissions.SkipPermissions = true
	ctx, cancel := context.WithCancelCause(t.Context())
	conn := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			conn <- c
		}
		close(conn)
		cancel(&runner.Stopping{Reason: "cancelled", Term: 2 * time.Second, Kill: time.Second})
	}()
	_, f, _ := run(ctx, t, realCLI(t, s), o)
	if f == nil || f.Class != runner.Stopped {
		t.Errorf("stopped while a tool ran: got %+v, want class %s", f, runner.Stopped)
	}
	l.Close()
	c, ok := <-conn
	if !ok {
		t.Fatal("the tool never started")
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(patience))
	if n, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the tool's connection: got %d bytes, %v, want it closed with its last process", n, err)
	}
}
