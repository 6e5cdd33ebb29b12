package claude

import (
	"errors"
	"os"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/state"
)

// conversation returns a backend that has one transcript, the directory in which the conversation can be
// resumed, and the path of the transcript.
func conversation(t *testing.T, id, content string) (b *Backend, dir, file string) {
	t.Helper()
	k, dir, file := homeWith(t, id, content)
	return &Backend{CLI: program.CLI{Env: []string{"CLAUDE_CONFIG_DIR=" + k.Root}}}, dir, file
}

// prompted is a transcript that can be resumed, because it contains a prompt.
const prompted = `{"type":"queue-operation"}` + "\n" + `{"parentUuid":null,"type":"user","message":{}}` + "\n"

// TestCutBack checks that cutting back makes a transcript shorter and never longer. It also checks that
// there is a failure if the transcript then can't be resumed.
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
		b, dir, file := conversation(t, chosen, tt.content)
		_, path, f := transcriptsOf(b.Env).Prepare(runner.PromptOrder{Session: state.Resume, SessionID: chosen, Cut: tt.cut}, dir)
		got, err := os.ReadFile(file)
		if err != nil || string(got) != tt.want || (f != nil) != tt.wantFail || (path == file) == tt.wantFail || f != nil && f.Class != runner.Fatal {
			t.Errorf("%s: got %q, %v, %q, %v, want %q, failure %v", tt.name, got, err, path, f, tt.want, tt.wantFail)
		}
	}
	b, dir, file := conversation(t, chosen, whole)
	for id, o := range map[string]runner.PromptOrder{"other": {Session: state.Resume, SessionID: "other", Cut: at(5)}, chosen: {Session: state.Branch, SessionID: "new", From: chosen, Cut: at(1)}} {
		got, _, f := transcriptsOf(b.Env).Prepare(o, dir)
		text, err := os.ReadFile(file)
		assert.Check(t, got == id && f == nil && string(text) == whole && err == nil, "%s of %s: got %q, %v, and %q, %v, want the transcript left alone", o.Session, id, got, f, text, err)
	}
	for id, want := range map[string]int{"other": 1, chosen: 0} {
		notes, f := b.prepareConversation(runner.Order{Prompt: runner.PromptOrder{Session: state.Resume, SessionID: id, Cut: at(len(whole))}, Dir: dir})
		assert.Check(t, f == nil && len(notes) == want, "%s: got the notes %q, %v, want %d: one where there is no transcript to cut back", id, notes, f, want)
	}
}

// TestSymbolicLinksAreNoTranscripts checks that a conversation can be neither resumed nor branched if
// its transcript is a symbolic link.
func TestSymbolicLinksAreNoTranscripts(t *testing.T) {
	b, dir, file := conversation(t, chosen, prompted)
	assert.NilError(t, errors.Join(os.Remove(file), os.Symlink("elsewhere", file)))
	for _, o := range []runner.PromptOrder{{Session: state.Resume, SessionID: chosen}, {Session: state.Branch, SessionID: "new", From: chosen}} {
		_, _, f := transcriptsOf(b.Env).Prepare(o, dir)
		assert.Check(t, f != nil && f.Class == runner.Fatal, "%s: got %v, want it refused", o.Session, f)
	}
}
