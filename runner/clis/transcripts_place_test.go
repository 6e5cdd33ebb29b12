//go:build unix

package clis

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

func (p *placedConversation) isThere(c runner.Conversation) bool {
	_, ok := p.Length(c)
	return ok
}

// TestPlaceAndClear checks that Place replaces an existing transcript, even a longer one. The
// placed file must have the current time as its modification time, since a CLI may delete old
// files. Clear must not remove other conversations, nor files that have changed.
func TestPlaceAndClear(t *testing.T) {
	t.Parallel()
	for backend, text := range transcriptParts {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			p := placeConversation(t, backend)
			other := runner.Conversation{ID: strings.Replace(conversationID, "01a", "02b", 1), Dir: p.c.Dir}
			p.store(strings.ReplaceAll(text[0], conversationID, other.ID))
			assert.NilError(t, p.Place(other, p.stored))
			assert.NilError(t, os.WriteFile(p.path, []byte(text[0]+text[1]), 0o600))
			p.store(p.text)
			err := p.Place(p.c, p.stored)
			data, _ := os.ReadFile(p.path)
			info, statErr := os.Stat(p.path)
			if errors.Join(err, statErr) != nil || string(data) != p.text || info.Mode() != 0o600 || time.Since(info.ModTime()) > 24*time.Hour {
				t.Errorf("placed again: got %q, %v, %v, want %q, with mode 0600, modified now", data, info, err, p.text)
			}
			for _, id := range []string{"../" + conversationID, strings.ToUpper(conversationID), "*", ""} {
				c := runner.Conversation{ID: id, CLI: id, Dir: p.c.Dir}
				assert.Check(t, p.Place(c, p.stored) != nil, "the id %q: want an error", id)
				assert.Check(t, p.Clear(c, nil) != nil, "the id %q: want an error", id)
			}
			for _, from := range []string{p.stored + "s", t.TempDir()} {
				assert.Check(t, p.Place(p.c, from) != nil, "placed from %s: got no error", from)
			}
			mark, err := transcripts.FingerprintOf(p.path)
			assert.NilError(t, err)
			if err := p.Clear(p.c, &runner.Fingerprint{Size: 1}); err != nil || !p.isThere(p.c) {
				t.Errorf("cleared with another mark: got %v, there: %v, want it kept", err, p.isThere(p.c))
			}
			for range 2 { // in the second call, the file is already missing
				err := p.Clear(p.c, &mark)
				assert.Check(t, err == nil && !p.isThere(p.c) && p.isThere(other), "cleared: got %v, there: %v, the other one: %v", err, p.isThere(p.c), p.isThere(other))
			}
		})
	}
}

// agentWritable is the number of elements at the end of a transcript's path that an agent may have
// created: the file and the folders that contain it. The keys are backend names.
var agentWritable = map[string]int{protocol.BackendClaude: 3, protocol.BackendCodex: 5, protocol.BackendGemini: 4, protocol.BackendCommand: 1}

// TestTranscriptLinksAreNotFollowed replaces a transcript, or a folder above it, with a link, as an
// agent could do. It checks that Place and Clear do not change the link's target.
func TestTranscriptLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	for backend, own := range agentWritable {
		for up := range own {
			p := placeConversation(t, backend)
			at := p.path
			for range up {
				at = filepath.Dir(at)
			}
			outside := filepath.Join(t.TempDir(), filepath.Base(at))
			assert.NilError(t, errors.Join(os.Rename(at, outside), os.Symlink(outside, at)))
			rest, err := filepath.Rel(at, p.path)
			assert.NilError(t, err)
			p.store(p.text + transcriptParts[backend][1])
			_, _ = p.Place(p.c, p.stored), p.Clear(p.c, nil) // both may return an error
			data, err := os.ReadFile(filepath.Join(outside, rest))
			assert.Check(t, is.Equal(string(data), p.text), "%s, a link in place of %s: got target %q, %v, want it unchanged", backend, at, data, err)
		}
	}
}
