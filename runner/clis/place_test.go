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

func (p *placed) isThere(c runner.Conversation) bool {
	_, ok := p.Length(c)
	return ok
}

// TestPlaceAndClear: what is placed replaces what is there, also by a shorter one, and is as good
// as new, since a CLI may delete old files. What is cleared leaves other conversations, and a file
// that has changed.
func TestPlaceAndClear(t *testing.T) {
	t.Parallel()
	for backend, text := range kept {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			p := place(t, backend)
			other := runner.Conversation{ID: strings.Replace(talked, "01a", "02b", 1), Dir: p.c.Dir}
			p.store(strings.ReplaceAll(text[0], talked, other.ID))
			assert.NilError(t, p.Place(other, p.stored))
			assert.NilError(t, os.WriteFile(p.path, []byte(text[0]+text[1]), 0o600))
			p.store(p.text)
			err := p.Place(p.c, p.stored)
			data, _ := os.ReadFile(p.path)
			info, statErr := os.Stat(p.path)
			if errors.Join(err, statErr) != nil || string(data) != p.text || info.Mode() != 0o600 || time.Since(info.ModTime()) > 24*time.Hour {
				t.Errorf("placed again: got %q, %v, %v, want %q, with mode 0600, of now", data, info, err, p.text)
			}
			for _, id := range []string{"../" + talked, strings.ToUpper(talked), "*", ""} {
				c := runner.Conversation{ID: id, CLI: id, Dir: p.c.Dir}
				assert.Check(t, p.Place(c, p.stored) != nil, "the id %q: got it placed or cleared, want errors", id)
				assert.Check(t, p.Clear(c, nil) != nil, "the id %q: got it placed or cleared, want errors", id)
			}
			for _, from := range []string{p.stored + "s", t.TempDir()} {
				assert.Check(t, p.Place(p.c, from) != nil, "placed from %s: got no error", from)
			}
			mark, err := transcripts.FingerprintOf(p.path)
			assert.NilError(t, err)
			if err := p.Clear(p.c, &runner.Fingerprint{Size: 1}); err != nil || !p.isThere(p.c) {
				t.Errorf("cleared with another mark: got %v, there: %v, want it left", err, p.isThere(p.c))
			}
			for range 2 { // the second time there is nothing
				err := p.Clear(p.c, &mark)
				assert.Check(t, err == nil && !p.isThere(p.c) && p.isThere(other), "cleared: got %v, there: %v, another one: %v", err, p.isThere(p.c), p.isThere(other))
			}
		})
	}
}

// agentsOwn is how many of the last parts of a conversation's path an agent may have made: the file,
// and folders above it.
var agentsOwn = map[string]int{protocol.BackendClaude: 3, protocol.BackendCodex: 5, protocol.BackendGemini: 4, protocol.BackendCommand: 1}

// TestLinksOfConversationsAreNotFollowed: what an agent has put in the place of a file or a folder
// leads nowhere. What it would lead to stays as it was.
func TestLinksOfConversationsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for backend, own := range agentsOwn {
		for up := range own {
			p := place(t, backend)
			at := p.path
			for range up {
				at = filepath.Dir(at)
			}
			outside := filepath.Join(t.TempDir(), filepath.Base(at))
			assert.NilError(t, errors.Join(os.Rename(at, outside), os.Symlink(outside, at)))
			rest, err := filepath.Rel(at, p.path)
			assert.NilError(t, err)
			p.store(p.text + kept[backend][1])
			_, _ = p.Place(p.c, p.stored), p.Clear(p.c, nil) // errors are as good
			data, err := os.ReadFile(filepath.Join(outside, rest))
			assert.Check(t, is.Equal(string(data), p.text), "%s, a link in place of %s: what it leads to: got %q, %v, want it as it was", backend, at, data, err)
		}
	}
}
