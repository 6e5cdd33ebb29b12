package codex

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	ct "github.com/raymond-action/raymond-action/runner/codex/codextest"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// TestContractCopies: a copy of a thread is resumed with what was said up to where it was cut,
// in another folder, and its tokens count from there; the thread itself stays as it was.
func TestContractCopies(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, model("", agenttest.Reply{Text: "fine", Input: 1000, Cached: 100, Output: 26}))
	b, o := started(t, s), order(t, "one")
	o.Prompt.Model = "gpt-5.5"
	each := state.Usage{Model: "gpt-5.5", Input: 1000, CacheRead: 100, Output: 26}
	a := answer(t, b, o)
	c := runner.Conversation{ID: o.Prompt.SessionID, CLI: a.CLIID, Dir: o.Dir}
	entry, _ := b.Length(c)
	o.Prompt.Session, o.Prompt.Text, o.Prompt.CLIID, o.Prompt.Model = state.Resume, "two", a.CLIID, ""
	answer(t, b, o)
	path, _ := b.rollouts().Path(a.CLIID)
	before, err := transcripts.MarkOf(path)
	if err != nil {
		t.Fatal(err)
	}

	again := o
	again.Dir, again.Prompt.CLIID, again.Prompt.Text = t.TempDir(), "", "three"
	for _, tt := range []struct {
		length int64
		want   []string
	}{{entry, []string{"one", "three"}}, {entry + 1, []string{"one", "three"}}, {-1, []string{"one", "two", "three"}}} {
		again.Prompt.SessionID = uuid.NewString()
		if again.Prompt.Cut = nil; tt.length >= 0 {
			again.Prompt.Cut = &tt.length // offsets are those of the conversation itself
		}
		if id, err := b.Copy(c, tt.length, again.Prompt.SessionID, again.Dir); err != nil || id != again.Prompt.SessionID {
			t.Fatalf("copy of %d bytes: got %q, %v", tt.length, id, err)
		}
		used(t, "a copy", answer(t, b, again), each)
		saw(t, s, "a copy", tt.want...)
	}
	if after, err := transcripts.MarkOf(path); err != nil || after != before {
		t.Errorf("the thread itself: got %+v, %v, want it as it was, %+v", after, err, before)
	}
	for _, id := range []string{again.Prompt.SessionID, a.CLIID, "../x", ""} {
		if _, err := b.Copy(c, -1, id, again.Dir); err == nil {
			t.Errorf("copy as %q: got no error", id)
		}
	}
	for name, length := range map[string]int64{"more than there is": before.Size + 1, "nothing": 0} {
		if _, err := b.Copy(c, length, uuid.NewString(), again.Dir); err == nil {
			t.Errorf("copy of %s: got no error", name)
		}
	}
	used(t, "the thread itself", answer(t, b, o), each)
	saw(t, s, "the thread itself", "one", "two", "two")
}

// TestContractMessages: what was said, used and refused is read from what the CLI keeps.
func TestContractMessages(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, model("write", agenttest.Reply{Write: "made"}, "shell", agenttest.Reply{Text: "I do it", Shell: "echo hello; exit 3"}))
	b, o := started(t, s), order(t, "write")
	o.Prompt.Permissions.PermissionMode = "plan"
	a := answer(t, b, o)
	c := runner.Conversation{ID: o.Prompt.SessionID, CLI: a.CLIID, Dir: o.Dir}
	end, _ := b.Length(c)
	o.Prompt.Session, o.Prompt.CLIID, o.Prompt.Permissions.PermissionMode = state.Resume, a.CLIID, "bypassPermissions"
	for _, o.Prompt.Text = range []string{"shell", "more"} {
		answer(t, b, o)
	}

	const refused = "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings"
	want := []runner.Message{
		{From: runner.FromUser, Text: "write"},
		{From: runner.FromTool, Tool: "exec", Text: "Script failed\n" + refused, Failed: true, Refused: true},
		{From: runner.FromAgent, Text: "tool said Script error:\n" + refused},
	}
	later := []runner.Message{
		{From: runner.FromUser, Text: "shell"},
		{From: runner.FromAgent, Text: "I do it"},
		{From: runner.FromTool, Tool: "exec", Text: "Script completed\nhello", Failed: true},
		{From: runner.FromAgent, Text: "tool said hello"},
		{From: runner.FromUser, Text: "more"},
		{From: runner.FromAgent, Text: "ok"},
	}
	for name, tt := range map[string]struct {
		from, to int64
		want     []runner.Message
	}{"all": {0, -1, append(want, later...)}, "the first": {0, end, want}, "the others": {end, -1, later}} {
		var got []runner.Message
		at := int64(0)
		err := b.Read(c, tt.from, tt.to, func(m runner.Message) error {
			isOfModel := m.From == runner.FromAgent || m.From == runner.FromTool
			isOf := strings.Contains(m.Input, "apply_patch") || strings.Contains(m.Input, "echo hello")
			if m.Offset < max(at, tt.from) || m.Time.IsZero() || isOfModel != (m.Model != "") || isOf != (m.Tool != "") {
				t.Errorf("%s: message %+v after byte %d", name, m, at)
			}
			at = m.Offset
			if first, rest, ok := strings.Cut(m.Text, "\nWall time "); ok {
				_, rest, _ = strings.Cut(rest, "Output:\n")
				m.Text = first + "\n" + strings.TrimPrefix(rest, "Script error:\n")
			}
			got = append(got, runner.Message{From: m.From, Text: strings.TrimSpace(m.Text), Tool: m.Tool, Failed: m.Failed, Refused: m.Refused})
			return nil
		})
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	c.CLI = uuid.NewString()
	if err := b.Read(c, 0, -1, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no rollout: got %v, want %v", err, fs.ErrNotExist)
	}
}
