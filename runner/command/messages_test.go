//go:build unix

package command_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner"
)

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
