package claude

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
	ct "github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// conversation is a backend with a transcript, and a directory to resume it in.
func conversation(t *testing.T, id, content string) (b *Backend, dir, file string) {
	t.Helper()
	config := t.TempDir()
	file = filepath.Join(config, "projects", "any", id+".jsonl")
	must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o600)))
	return &Backend{Env: []string{"CLAUDE_CONFIG_DIR=" + config}}, t.TempDir(), file
}

const prompted = `{"type":"queue-operation"}` + "\n" + `{"parentUuid":null,"type":"user","message":{}}` + "\n"

// TestCutBack holds that a transcript is only ever made shorter, and that one
// which cannot be resumed is told from one that can.
func TestCutBack(t *testing.T) {
	whole := prompted + `{"type":"assistant"}` + "\n"
	at := func(n int) *int64 { m := int64(n); return &m }
	tests := []struct {
		name, content string
		cut           *int64
		want          string
		wantFail      bool
	}{
		{"nothing to cut", whole, nil, whole, false},
		{"cut", whole, at(len(prompted)), prompted, false},
		{"longer than the file", whole, at(len(whole) + 100), whole, false},
		{"negative", whole, at(-1), whole, false},
		{"no prompt left", whole, at(20), whole[:20], true},
		{"never a prompt", `{"type":"queue-operation"}` + "\n", nil, `{"type":"queue-operation"}` + "\n", true},
		{"garbage around the prompt", "\x00{\n" + prompted + "{", nil, "\x00{\n" + prompted + "{", false},
	}
	for _, tt := range tests {
		b, dir, file := conversation(t, "s", tt.content)
		notes, f := b.prepare(runner.Order{Prompt: runner.PromptOrder{Session: state.Resume, SessionID: "s", Cut: tt.cut}, Dir: dir})
		got, err := os.ReadFile(file)
		if err != nil || string(got) != tt.want || (f != nil) != tt.wantFail || len(notes) > 0 || f != nil && f.Class != runner.Fatal {
			t.Errorf("%s: got %q, %v, %v, %v, want %q, failure %v", tt.name, got, err, notes, f, tt.want, tt.wantFail)
		}
	}
	b, dir, _ := conversation(t, "s", whole)
	notes, f := b.prepare(runner.Order{Prompt: runner.PromptOrder{Session: state.Resume, SessionID: "other", Cut: at(5)}, Dir: dir})
	if len(notes) != 1 || f != nil {
		t.Errorf("cut back a transcript that is not there: got %q, %v, want one note", notes, f)
	}
	if notes, f := b.prepare(runner.Order{Prompt: runner.PromptOrder{Session: state.Branch, SessionID: "new", From: "s", Cut: at(1)}, Dir: dir}); len(notes) > 0 || f != nil {
		t.Errorf("branch: got %q, %v, want the caller's transcript left alone", notes, f)
	}
}

// TestAConversationMovesToAnotherMachine: the real CLI, with another home folder
// and in another directory, goes on with a conversation whose transcript was put
// in place, and with a branch of it.
func TestAConversationMovesToAnotherMachine(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, ct.On("one", ct.Say("first answer")), ct.On("", ct.Say("later answer")))
	there, o := realCLI(t, s), order(t, "one")
	answer(t, there, o)
	stored, ok := there.transcripts().Find(o.Prompt.SessionID, []string{t.TempDir(), o.Dir})
	if !ok || stored.Dir != o.Dir || stored.Size != length(t, there, o) {
		t.Fatalf("transcript: got %+v, %v, want %d bytes in %s", stored, ok, length(t, there, o), o.Dir)
	}
	copied := filepath.Join(t.TempDir(), "stored.jsonl")
	data, err := os.ReadFile(stored.Path)
	must(t, errors.Join(err, os.WriteFile(copied, data[:stored.Size], 0o600)))

	config := filepath.Join(t.TempDir(), "not yet", "config")
	here := realCLI(t, s, "CLAUDE_CONFIG_DIR="+config)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(t.TempDir(), link))
	o.Dir, o.Prompt.Session, o.Prompt.Text = link, state.Resume, "two"
	must(t, here.transcripts().Place(o.Prompt.SessionID, o.Dir, copied))
	answer(t, here, o)
	saw(t, s, "resume elsewhere", "user: one\nassistant: first answer\nuser: two\n")
	branch := o
	branch.Prompt.Session, branch.Prompt.From, branch.Prompt.SessionID, branch.Prompt.Text = state.Branch, o.Prompt.SessionID, uuid.NewString(), "three"
	answer(t, here, branch)
	saw(t, s, "branch elsewhere", "user: one\nassistant: first answer\nuser: two\nassistant: later answer\nuser: three\n")
	if now, err := os.ReadFile(copied); err != nil || string(now) != string(data[:stored.Size]) {
		t.Errorf("the stored bytes: got %d, %v, want the %d from before", len(now), err, stored.Size)
	}
}
