package claude

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
	ct "github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// TestContractCopies: a copy of a conversation is resumed with what was said up to where it was
// cut, in another folder, and is paid like any other; the conversation itself stays as it was.
func TestContractCopies(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, ct.On("", ct.Reply{Blocks: []ct.Block{ct.Text("ok")}, Usage: &ct.Usage{Input: 100_000, Output: 1000}}))
	b, o := realCLI(t, s), order(t, "one")
	o.Prompt.Model = "sonnet"
	first := answer(t, b, o)
	entry := length(t, b, o)
	o.Prompt.Session, o.Prompt.Text = state.Resume, "two"
	answer(t, b, o)
	path, _ := b.transcripts().Path(o.Prompt.SessionID, o.Dir)
	before, err := transcripts.MarkOf(path)
	must(t, err)

	c := runner.Conversation{ID: o.Prompt.SessionID, Dir: o.Dir}
	again := o
	again.Dir = filepath.Join(t.TempDir(), "elsewhere")
	must(t, os.Mkdir(again.Dir, 0o755))
	for _, tt := range []struct {
		length int64
		want   string
	}{
		{entry, "user: one\nassistant: ok\nuser: three\n"},
		{entry + 1, "user: one\nassistant: ok\nuser: three\n"},
		{-1, "user: one\nassistant: ok\nuser: two\nassistant: ok\nuser: three\n"},
	} {
		again.Prompt.SessionID, again.Prompt.Text = uuid.NewString(), "three"
		if again.Prompt.Cut = nil; tt.length >= 0 {
			again.Prompt.Cut = &tt.length // offsets are those of the conversation itself
		}
		if id, err := b.Copy(c, tt.length, again.Prompt.SessionID, again.Dir); err != nil || id != "" {
			t.Fatalf("copy of %d bytes: got %q, %v", tt.length, id, err)
		}
		at, _ := b.transcripts().Path(again.Prompt.SessionID, again.Dir)
		if text, err := os.ReadFile(at); err != nil || strings.Contains(string(text), `"sessionId":"`+c.ID) {
			t.Errorf("copy of %d bytes: got lines of the session %s, %v", tt.length, c.ID, err)
		}
		if got := answer(t, b, again).Cost; got.USD != first.Cost.USD {
			t.Errorf("copy of %d bytes: got cost %+v, want %s", tt.length, got, first.Cost.USD)
		}
		saw(t, s, "a copy", tt.want)
	}
	if after, err := transcripts.MarkOf(path); err != nil || after != before {
		t.Errorf("the conversation itself: got %+v, %v, want it as it was, %+v", after, err, before)
	}
	for _, id := range []string{again.Prompt.SessionID, c.ID, "../x", ""} {
		if _, err := b.Copy(c, -1, id, again.Dir); err == nil {
			t.Errorf("copy as %q: got no error", id)
		}
	}
	for name, length := range map[string]int64{"more than there is": before.Size + 1, "nothing": 0} {
		if _, err := b.Copy(c, length, uuid.NewString(), again.Dir); err == nil {
			t.Errorf("copy of %s: got no error", name)
		}
	}
	answer(t, b, o)
	saw(t, s, "the conversation itself", "user: one\nassistant: ok\nuser: two\nassistant: ok\nuser: two\n")
}

// compared is what is compared of a message.
type compared struct {
	From                        runner.Speaker
	Text, Tool, Input, Subagent string
	Failed, Refused             bool
}

// read returns the messages of a conversation from a byte to before another one.
func read(t *testing.T, b *Backend, c runner.Conversation, span [2]int64) (list []compared) {
	t.Helper()
	from, to, at := span[0], span[1], int64(0)
	err := b.Read(c, from, to, func(m runner.Message) error {
		if m.Offset < max(at, from) || to >= 0 && m.Offset >= to || m.Time.IsZero() || (m.From == runner.FromAgent) != (m.Model != "" && m.Tool == "") {
			t.Errorf("message %+v after byte %d", m, at)
		}
		at = m.Offset
		m.Text, _, _ = strings.Cut(m.Text, "\n")
		m.Text, _, _ = strings.Cut(m.Text, "[Subagent hand-back]")
		list = append(list, compared{m.From, m.Text, m.Tool, m.Input, m.Subagent, m.Failed, m.Refused})
		return nil
	})
	must(t, err)
	return list
}

// TestContractMessages: what was said, used, refused and left to another agent is read from
// what the CLI keeps.
func TestContractMessages(t *testing.T) {
	t.Parallel()
	o := order(t, "work")
	o.Prompt.Permissions.PermissionMode = "acceptEdits"
	s := ct.NewServer(t,
		ct.On("a part of it", ct.Do(ct.Text("I help"), ct.Bash("ls")), ct.Say("helped")),
		ct.On("work",
			ct.Do(ct.Thinking("hm"), ct.Text("I begin"), ct.Bash("echo there"), ct.Bash("ls missing")),
			ct.Do(ct.Bash("perl -v")),
			ct.Do(ct.ToolUse("Agent", map[string]any{"description": "a helper", "prompt": "a part of it", "subagent_type": "general-purpose"})),
			ct.Say("<goto>", "DONE</goto>")),
		ct.On("more", ct.Say("more said")))
	b := realCLI(t, s)
	answer(t, b, o)
	end := length(t, b, o)
	o.Prompt.Session, o.Prompt.Text = state.Resume, "more"
	answer(t, b, o)

	c := runner.Conversation{ID: o.Prompt.SessionID, Dir: o.Dir}
	bash := func(command string) string { return `{"command":"` + command + `","description":"test"}` }
	want := []compared{
		{From: runner.FromUser, Text: "work"},
		{From: runner.FromAgent, Text: "I begin"},
		{From: runner.FromTool, Tool: "Bash", Input: bash("echo there"), Text: "there"},
		{From: runner.FromTool, Tool: "Bash", Input: bash("ls missing"), Failed: true, Text: "Exit code 2"},
		{From: runner.FromTool, Tool: "Bash", Input: bash("perl -v"), Failed: true, Refused: true, Text: "This command requires approval"},
		{From: runner.FromTool, Tool: "Agent", Input: `{"description":"a helper","prompt":"a part of it","subagent_type":"general-purpose"}`},
		{From: runner.FromUser, Text: "a part of it", Subagent: "a helper"},
		{From: runner.FromAgent, Text: "I help", Subagent: "a helper"},
		{From: runner.FromTool, Tool: "Bash", Input: bash("ls"), Text: "(Bash completed with no output)", Subagent: "a helper"},
		{From: runner.FromAgent, Text: "helped", Subagent: "a helper"},
		{From: runner.FromAgent, Text: "<goto>"},
		{From: runner.FromAgent, Text: "DONE</goto>"},
	}
	later := []compared{{From: runner.FromUser, Text: "more"}, {From: runner.FromAgent, Text: "more said"}}
	for name, tt := range map[string]struct {
		span [2]int64
		want []compared
	}{"all": {[2]int64{0, -1}, append(want, later...)}, "the first": {[2]int64{0, end}, want}, "the second": {[2]int64{end, -1}, later}} {
		if diff := cmp.Diff(tt.want, read(t, b, c, tt.span)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	c.ID = uuid.NewString()
	if err := b.Read(c, 0, -1, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no transcript: got %v, want %v", err, fs.ErrNotExist)
	}
}
