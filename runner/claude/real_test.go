package claude

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
	ct "github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// The tests of this file run the real CLI against a scripted API. Each start
// takes more than half a second of processor time, so they are few.

func realCLI(t *testing.T, s *ct.Server, env ...string) *Backend {
	t.Helper()
	return &Backend{Path: ct.Install(t), Env: append(ct.Env(t, s), env...)}
}

// answer runs an order that must succeed.
func answer(t *testing.T, b *Backend, o runner.Order) runner.Answer {
	t.Helper()
	a, f, _ := run(t.Context(), t, b, o)
	if f != nil {
		t.Fatalf("%s %q: got failure %+v, want an answer", o.Session, o.Prompt, f)
	}
	if a.SessionID != o.SessionID {
		t.Fatalf("%s %q: got session %q, want %q", o.Session, o.Prompt, a.SessionID, o.SessionID)
	}
	return a
}

// length is that of a transcript that must exist.
func length(t *testing.T, b *Backend, o runner.Order) int64 {
	t.Helper()
	n, ok := b.Length(o.SessionID, o.Dir)
	if !ok || n == 0 {
		t.Fatalf("length of session %s in %s: got %d, %v, want some", o.SessionID, o.Dir, n, ok)
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

// TestConversations holds what the model sees after each way to begin or go on
// with a session, and what the invocation reports. The directory's name is one
// that the CLI abbreviates.
func TestConversations(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, ct.On("one", ct.Reply{Blocks: []ct.Block{ct.Thinking("hm"), ct.Text("first "), ct.Text("answer")},
		Usage: &ct.Usage{Input: 1000, Output: 100, CacheWrite: 10, CacheRead: 20}}), ct.On("", ct.Say("later answer")))
	b := realCLI(t, s)
	o := order(t, "one")
	o.Dir = filepath.Join(o.Dir, "Ünïcödé 😀", strings.Repeat("long.", 40))
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	target, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	o.Model = "sonnet"

	a := answer(t, b, o)
	saw(t, s, "fresh", "user: one\n")
	used := state.Usage{Model: s.Last(t).Model, Input: 1000, Output: 100, CacheWrite: 10, CacheRead: 20}
	usd, _ := state.ParseUSD("0.0045435") // $3 and $15 a million, 3.75 and 0.30 for the cache
	want := state.Cost{Kind: state.Exact, USD: usd, Usage: []state.ModelCost{{Usage: used, CostUSD: usd}}}
	if diff := cmp.Diff(want, a.Cost); diff != "" || a.Text != "first answer" || s.Last(t).APIKey != ct.Key {
		t.Errorf("fresh: got %q, cost (-want +got):\n%s", a.Text, diff)
	}
	entry := length(t, b, o)
	projects, _ := b.projects()
	if file := filepath.Join(projects, slug(target), o.SessionID+".jsonl"); !isFile(file) {
		t.Errorf("transcript of a session in %s: want it at %s", target, file)
	}
	if got, ok := b.Usage(o.SessionID, o.Dir, 0); !ok || len(got) != 1 || got[0] != used {
		t.Errorf("usage in the transcript: got %+v, %v, want %+v", got, ok, used)
	}

	o.Session, o.Prompt = state.Resume, "two"
	answer(t, b, o)
	saw(t, s, "resume", "user: one\nassistant: first \nanswer\nuser: two\n")

	o.Cut, o.Prompt = &entry, "two again"
	answer(t, b, o)
	saw(t, s, "resume after a cut", "user: one\nassistant: first \nanswer\nuser: two again\n")

	parent := length(t, b, o)
	branch := o
	branch.Session, branch.From, branch.SessionID, branch.Cut, branch.Prompt = state.Branch, o.SessionID, uuid.NewString(), nil, "three"
	answer(t, b, branch)
	saw(t, s, "branch", "user: one\nassistant: first \nanswer\nuser: two again\nassistant: later answer\nuser: three\n")
	if now := length(t, b, o); now != parent {
		t.Errorf("branch: the caller's transcript grew from %d to %d bytes", parent, now)
	}
	length(t, b, branch)
}

// TestToolsAreUsed holds that an agent can work within its permissions, and that
// what it was refused is reported.
func TestToolsAreUsed(t *testing.T) {
	t.Parallel()
	o := order(t, "work")
	o.PermissionMode, o.DebugDir = "acceptEdits", t.TempDir()
	o.AllowedTools, o.DisallowedTools = []string{"Bash(python3 *)", "Bash(perl -e 1, 2)"}, []string{"Bash(python3 -V)"}
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

// TestErrorsOfTheAPI holds how the real CLI's errors are classed, and that those
// which no retry cures are not retried.
func TestErrorsOfTheAPI(t *testing.T) {
	tests := []struct {
		name     string
		reply    ct.Reply
		set      func(*runner.Order)
		want     runner.Class
		resumed  bool // the failure can be continued
		requests int  // at most
	}{
		{"401", ct.Fail(401), nil, runner.Fatal, false, 3},
		{"529", ct.Fail(529), nil, runner.Transient, false, 2},
		{"404", ct.Fail(404), func(o *runner.Order) { o.Model = "claude-nope-1" }, runner.Fatal, false, 2},
		{"cut stream", ct.Reply{Blocks: []ct.Block{ct.Text("half")}, NoStop: true}, nil, runner.Transient, false, 1},
		{"budget", ct.Do(ct.Bash("echo hi")), func(o *runner.Order) { o.BudgetCap = state.Dollar / 1000 }, runner.OverBudget, true, 2},
		{"session gone", ct.Say("no"), func(o *runner.Order) { o.Session = state.Resume }, runner.Fatal, false, 0},
	}
	for _, tt := range tests {
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

// TestStopLeavesNothing stops the CLI while a tool runs that has moved to a
// session of its own. Whatever still lives would hold the connection open.
func TestStopLeavesNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	s := ct.NewServer(t, ct.On("wait", ct.Do(ct.Bash(
		"exec 7<>/dev/tcp/127.0.0.1/"+port+"; setsid sleep 300 & trap '' INT; sleep 300")), ct.Say("it ended")))
	o := order(t, "wait")
	o.SkipPermissions = true
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
	c.SetReadDeadline(time.Now().Add(2 * time.Second))
	if n, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the tool's connection: got %d bytes, %v, want it closed with its last process", n, err)
	}
}
