package clis

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
)

// conversationID is the id of the conversation in the tests' transcripts.
const conversationID = "01a20496-9575-7df3-99d5-ad94698ff8ca"

// transcriptParts contains two chunks of a transcript for each backend. The user's prompt is "one"
// in the first chunk and "two" in the second one.
var transcriptParts = map[string][2]string{
	protocol.BackendClaude: {
		`{"type":"user","uuid":"a","sessionId":"` + conversationID + `","timestamp":"2026-11-24T04:00:00Z","message":{"role":"user","content":"one"}}` + "\n",
		`{"type":"user","uuid":"b","sessionId":"` + conversationID + `","timestamp":"2026-11-24T04:00:01Z","message":{"role":"user","content":"two"}}` + "\n",
	},
	protocol.BackendCodex: {
		`{"type":"session_meta","timestamp":"2026-11-24T04:00:00Z","payload":{"id":"` + conversationID + `","cwd":"/work"}}` + "\n" +
			`{"type":"event_msg","timestamp":"2026-11-24T04:00:00Z","payload":{"type":"item_completed","item":{"type":"UserMessage","content":[{"text":"one"}]}}}` + "\n",
		`{"type":"event_msg","timestamp":"2026-11-24T04:00:01Z","payload":{"type":"item_completed","item":{"type":"UserMessage","content":[{"text":"two"}]}}}` + "\n",
	},
	protocol.BackendGemini: {
		`{"sessionId":"` + conversationID + `","projectHash":"x"}` + "\n" + `{"id":"1","timestamp":"2026-11-24T04:00:00Z","type":"user","content":"one"}` + "\n",
		`{"id":"2","timestamp":"2026-11-24T04:00:01Z","type":"user","content":"two"}` + "\n",
	},
	protocol.BackendCommand: {`{"role":"user","text":"one"}` + "\n", `{"role":"user","text":"two"}` + "\n"},
}

// TestConversationCopies checks that a copy of a conversation has a new id, is in another folder,
// and contains the messages up to the given length. The original must not change.
func TestConversationCopies(t *testing.T) {
	t.Parallel()
	for backend, text := range transcriptParts {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			p := placeConversation(t, backend)
			p.store(text[0] + text[1])
			assert.NilError(t, p.Place(p.c, p.stored))
			a, c := p.AgentCLI, p.c
			first := int64(len(text[0]))
			for length, want := range map[int64]string{first: "one", first + 1: "one", -1: "one two"} {
				copied := runner.Conversation{ID: uuid.NewString(), Dir: t.TempDir()}
				_, err := a.Copy(c, length, copied.ID, copied.Dir)
				assert.Check(t, err, "copy of %d bytes: %v", length, err)
				assert.Check(t, is.Equal(readTexts(t, a, copied), want), "copy of %d bytes", length)
				found, _ := a.Find(copied, []string{copied.Dir})
				data, err := os.ReadFile(found.Path)
				assert.Check(t, err == nil && !strings.Contains(string(data), conversationID), "copy of %d bytes: got %q, %v, want it without the id of the original", length, data, err)
			}
			for _, id := range []string{c.ID, "../x", ""} {
				_, err := a.Copy(c, -1, id, c.Dir)
				assert.Check(t, err != nil, "copy as %q: got no error", id)
			}
			for what, length := range map[string]int64{"more than there is": first * 10, "nothing": 0} {
				_, err := a.Copy(c, length, uuid.NewString(), c.Dir)
				assert.Check(t, err != nil, "copy of %s: got no error", what)
			}
			data, err := os.ReadFile(p.path)
			assert.Check(t, is.Equal(string(data), text[0]+text[1]), "original: got %q, %v, want it unchanged", data, err)
			c.ID = uuid.NewString()
			_, err = a.Copy(c, -1, uuid.NewString(), c.Dir)
			assert.Check(t, err != nil, "copy of a missing conversation: got no error")
			assert.Check(t, is.ErrorIs(a.Read(c, 0, -1, nil), fs.ErrNotExist), "a missing conversation")
		})
	}
}

// readTexts returns the texts of a conversation, joined with spaces. It also checks that reading
// the conversation in two steps returns the same texts.
func readTexts(t *testing.T, a runner.AgentCLI, c runner.Conversation) string {
	t.Helper()
	read := func(from, to int64) (texts []string, last int64) {
		err := a.Read(c, from, to, func(m runner.Message) error {
			texts, last = append(texts, m.Text), m.Offset
			return nil
		})
		assert.Check(t, err, "read")
		return texts, last
	}
	all, last := read(0, -1)
	before, _ := read(0, last)
	after, _ := read(last, -1)
	assert.Check(t, is.DeepEqual(append(before, after...), all), "read in two pieces")
	return strings.Join(all, " ")
}

// placedConversation is an agent CLI that has a home folder with the conversation conversationID.
type placedConversation struct {
	runner.AgentCLI
	t      *testing.T
	c      runner.Conversation
	text   string // content of the transcript
	stored string // path of the file from which the transcript was placed
	path   string // path at which the CLI finds the transcript
}

// placeConversation returns an agent CLI for which a transcript was placed: the first chunk in
// transcriptParts.
func placeConversation(t *testing.T, backend string) *placedConversation {
	t.Helper()
	home := t.TempDir()
	p := &placedConversation{
		AgentCLI: New(Config{Env: []string{"HOME=" + home, "USERPROFILE=" + home}})[backend], t: t,
		c: runner.Conversation{ID: conversationID, Dir: t.TempDir()}, text: transcriptParts[backend][0], stored: filepath.Join(t.TempDir(), "stored.jsonl"),
	}
	p.store(p.text)
	assert.NilError(t, p.Place(p.c, p.stored))
	found, ok := p.Find(p.c, []string{p.c.Dir})
	assert.Assert(t, ok && found.Size == int64(len(p.text)), "placed: got %+v, %v, want %d bytes", found, ok, len(p.text))
	p.path = found.Path
	return p
}

// store writes the file from which conversations are placed. The file's modification time is 40
// days ago.
func (p *placedConversation) store(text string) {
	p.t.Helper()
	old := time.Now().Add(-40 * 24 * time.Hour)
	assert.NilError(p.t, errors.Join(os.WriteFile(p.stored, []byte(text), 0o644), os.Chtimes(p.stored, old, old)))
}
