//go:build unix

package command_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/command"
	"github.com/raymond-action/raymond-action/runner/command/commandtest"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// TestCopies: a program that keeps its conversation in the file continues a copy of it with
// what was said up to where it was cut; the conversation itself stays as it was. That of a
// program which does not can't be copied.
func TestCopies(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	v := commandtest.Vendor{}
	var asked atomic.Pointer[agenttest.Asked]
	url := v.Serve(t, func(a agenttest.Asked) agenttest.Reply {
		asked.Store(&a)
		return agenttest.Reply{Text: "re: " + a.Last()}
	})
	p := newPlace(t, v.Flags(v.Install(t))[1])
	p.backend = &command.Backend{Command: p.backend.Command, Env: append(v.Environ(url, home), "PATH="+os.Getenv("PATH"))}
	answer := func(o runner.PromptOrder) runner.Answer {
		t.Helper()
		a, f := p.run(o)
		if f != nil {
			t.Fatalf("%q: %+v", o.Text, f)
		}
		return a
	}
	id := answer(fresh("one")).CLIID
	c := runner.Conversation{ID: first, CLI: id, Dir: p.dir}
	entry, _ := p.backend.Length(c)
	answer(runner.PromptOrder{Text: "two", Session: state.Resume, SessionID: first, CLIID: id})
	path := filepath.Join(home, ".local/state/raymond/conversations/conversation-"+first+".jsonl")
	before, err := transcripts.MarkOf(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.backend.Copy(c, entry+1, second, t.TempDir()); err != nil || got != id {
		t.Fatalf("copy: got %q, %v, want %q", got, err, id)
	}
	answer(runner.PromptOrder{Text: "three", Session: state.Resume, SessionID: second, CLIID: id})
	if got := strings.Join(asked.Load().Prompts, ","); got != "one,three" {
		t.Errorf("prompts in the copy: got %s, want one,three", got)
	}
	if after, err := transcripts.MarkOf(path); err != nil || after != before {
		t.Errorf("the conversation itself: got %+v, %v, want it as it was, %+v", after, err, before)
	}
	if _, err := p.backend.Copy(c, -1, second, p.dir); err == nil {
		t.Error("copy to a conversation that is there: got no error")
	}
	var said []string
	err = p.backend.Read(c, entry, -1, func(m runner.Message) error {
		said = append(said, string(m.From)+": "+m.Text)
		return nil
	})
	if diff := cmp.Diff([]string{"user: two", "agent: re: two"}, said); diff != "" || err != nil {
		t.Errorf("messages of the second prompt: %v (-want +got):\n%s", err, diff)
	}
	c.ID = "33333333-3333-4333-8333-333333333333"
	if _, err := p.backend.Copy(c, -1, "44444444-4444-4444-8444-444444444444", p.dir); !errors.Is(err, runner.ErrCantCopy) {
		t.Errorf("copy without a file: got %v, want %v", err, runner.ErrCantCopy)
	}
	if err := p.backend.Read(c, 0, -1, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("messages without a file: got %v, want %v", err, fs.ErrNotExist)
	}
}

// TestMessages: lines as the documentation has them are messages, and others are shown as they
// are.
func TestMessages(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `cat >> "$RAYMOND_SESSION_FILE"; echo '{"type": "session", "id": "s"}'`)
	const file = `{"role": "user", "text": "do it"}
{"role": "assistant", "content": [{"text": "so"}, {"text": " be it"}], "model": "m"}

{"role": "tool", "name": "shell", "input": {"command": "ls"}, "content": "a b"}
plain words
{"role": "unknown", "text": "x"}
`
	if _, f := p.run(fresh(file)); f != nil {
		t.Fatal(f)
	}
	var got []runner.Message
	err := p.backend.Read(runner.Conversation{ID: first}, 0, -1, func(m runner.Message) error {
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
