package gemini

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// TestContractCopies: a copy of a conversation is resumed with what was said up to where it was
// cut, in another folder; the conversation itself stays as it was.
func TestContractCopies(t *testing.T) {
	t.Parallel()
	s := newSite(t, echo)
	o := s.order("one")
	s.answer(o)
	entry := s.length(o)
	o.Prompt.Session, o.Prompt.Text = state.Resume, "two"
	s.answer(o)
	path, _, _ := s.backend.home().find(o.Prompt.SessionID, o.Dir)
	before, err := transcripts.MarkOf(path)
	must(t, err)

	c, again := conversation(o), o
	again.Dir, again.Prompt.Text = t.TempDir(), "three"
	for _, tt := range []struct {
		length        int64
		prompts, said []string
	}{
		{entry, []string{"one", "three"}, []string{"re: one"}},
		{entry + 1, []string{"one", "three"}, []string{"re: one"}},
		{-1, []string{"one", "two", "three"}, []string{"re: one", "re: two"}},
	} {
		again.Prompt.SessionID = uuid.NewString()
		if again.Prompt.Cut = nil; tt.length >= 0 {
			again.Prompt.Cut = &tt.length // offsets are those of the conversation itself
		}
		if id, err := s.backend.Copy(c, tt.length, again.Prompt.SessionID, again.Dir); err != nil || id != "" {
			t.Fatalf("copy of %d bytes: got %q, %v", tt.length, id, err)
		}
		s.answer(again)
		s.saw("a copy", tt.prompts, tt.said)
	}
	if after, err := transcripts.MarkOf(path); err != nil || after != before {
		t.Errorf("the conversation itself: got %+v, %v, want it as it was, %+v", after, err, before)
	}
	for _, id := range []string{again.Prompt.SessionID, c.ID, "../x", ""} {
		if _, err := s.backend.Copy(c, -1, id, again.Dir); err == nil {
			t.Errorf("copy as %q: got no error", id)
		}
	}
	for name, length := range map[string]int64{"more than there is": before.Size + 1, "nothing": 0} {
		if _, err := s.backend.Copy(c, length, uuid.NewString(), again.Dir); err == nil {
			t.Errorf("copy of %s: got no error", name)
		}
	}
	s.answer(o)
	s.saw("the conversation itself", []string{"one", "two", "two"}, []string{"re: one", "re: two"})
}

// delegate is a model that tries something first, and then leaves it to an agent.
func delegate(a agenttest.Asked) agenttest.Reply {
	isHelper := strings.Contains(a.Last(), "a part of it")
	switch {
	case isHelper && a.Output == "":
		return agenttest.Reply{Text: "I help", Shell: "echo hello"}
	case isHelper:
		return agenttest.Reply{Text: "I am done", Tool: "complete_task", Args: map[string]any{"result": map[string]any{"response": "helped"}}}
	case a.Output != "":
		return agenttest.Reply{Text: "it is done"}
	case strings.Contains(a.Last(), "first"):
		return agenttest.Reply{Text: "I try", Shell: "touch made"}
	}
	return agenttest.Reply{Text: "I delegate", Tool: "invoke_agent", Args: map[string]any{"agent_name": "generalist", "prompt": "a part of it"}}
}

// TestContractMessages: what was said, used, refused and left to another agent is read from
// what the CLI keeps.
func TestContractMessages(t *testing.T) {
	t.Parallel()
	s := newSite(t, delegate)
	o := s.order("first")
	s.answer(o)
	end := s.length(o)
	o.Prompt.Session, o.Prompt.Text, o.Prompt.Permissions.SkipPermissions = state.Resume, "second", true
	s.answer(o)

	want := []runner.Message{
		{From: runner.FromUser, Text: "first"},
		{From: runner.FromAgent, Text: "I try"},
		{From: runner.FromTool, Tool: "run_shell_command", Text: `Tool "run_shell_command" not found. Did you mean one of`, Failed: true, Refused: true},
		{From: runner.FromAgent, Text: "it is done"},
	}
	const helper = "generalist"
	later := []runner.Message{
		{From: runner.FromUser, Text: "second"},
		{From: runner.FromAgent, Text: "I delegate"},
		{From: runner.FromTool, Tool: "invoke_agent", Text: "Subagent 'generalist' finished."},
		{From: runner.FromUser, Text: "a part of it", Subagent: helper},
		{From: runner.FromAgent, Text: "I help", Subagent: helper},
		{From: runner.FromTool, Tool: "run_shell_command", Text: "<untrusted_context>", Subagent: helper},
		{From: runner.FromAgent, Text: "I am done", Subagent: helper},
		{From: runner.FromTool, Tool: "complete_task", Text: "Output submitted and task completed.", Subagent: helper},
		{From: runner.FromAgent, Text: "it is done"},
	}
	for name, tt := range map[string]struct {
		from, to int64
		want     []runner.Message
	}{"all": {0, -1, append(want, later...)}, "the first": {0, end, want}, "the second": {end, -1, later}} {
		var got []runner.Message
		at := int64(0)
		err := s.backend.Read(conversation(o), tt.from, tt.to, func(m runner.Message) error {
			if m.Offset < max(at, tt.from) || m.Time.IsZero() || (m.From == runner.FromUser) != (m.Model == "") || (m.Input != "") != (m.Tool != "") {
				t.Errorf("%s: message %+v after byte %d", name, m, at)
			}
			at = m.Offset
			m.Text, _, _ = strings.Cut(m.Text, "\n")
			m.Text, _, _ = strings.Cut(m.Text, ": \"")
			got = append(got, runner.Message{From: m.From, Text: m.Text, Tool: m.Tool, Failed: m.Failed, Refused: m.Refused, Subagent: m.Subagent})
			return nil
		})
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	c := conversation(o)
	c.ID = uuid.NewString()
	if err := s.backend.Read(c, 0, -1, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no transcript: got %v, want %v", err, fs.ErrNotExist)
	}
}
