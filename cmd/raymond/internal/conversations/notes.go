package conversations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/seal"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/state"
)

// maxNotes is the size in bytes of the longest file that Read reads.
const maxNotes = 16 << 20

// Notes keeps in a file which conversations are a step's own, for the post part of the
// step. Its methods may be called by any goroutine. A nil *Notes keeps nothing.
type Notes struct {
	file   string
	seals  *seal.Seals // of the file; nil for none
	mu     sync.Mutex  // guards what follows, and the file
	known  map[string]bool
	broken bool // the file may have half a line at its end
}

// NewNotes returns notes that add to a file, which need not be there, and seal what they
// add.
func NewNotes(file string, seals *seal.Seals) *Notes {
	return &Notes{file: file, seals: seals, known: map[string]bool{}}
}

// Add notes a conversation, and is for before anybody can speak in it. One that can't
// be noted is not removed later.
func (n *Notes) Add(o Own) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known[o.ID] || n.broken {
		return
	}
	line, err := json.Marshal(o)
	if err != nil {
		return
	}
	f, _, err := files.OpenFile(n.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	line = append(line, '\n')
	if n.seals.Append(n.file, line) != nil {
		return
	}
	_, err = f.Write(line)
	n.broken = err != nil
	n.known[o.ID] = err == nil
}

// AddPlaced notes the conversation that was put back for a session which works in
// dir.
func (n *Notes) AddPlaced(sessions transcript.Folder, id, dir string) {
	if n == nil {
		return
	}
	stored, ok := sessions.Find(id, []string{dir})
	if !ok {
		return
	}
	if mark, err := transcript.MarkOf(stored.Path); err == nil {
		n.Add(Own{id, &mark})
	}
}

// Wrap returns a backend of prompts that notes each conversation before its first
// prompt.
func (n *Notes) Wrap(b runner.Backend) runner.Backend {
	if n == nil {
		return b
	}
	return &noting{b, n}
}

// noting is the backend that Wrap returns.
type noting struct {
	runner.Backend
	notes *Notes
}

func (b *noting) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	if o.Prompt.SessionID != "" && o.Prompt.Session != state.Resume { // a session that is resumed has been noted
		b.notes.Add(Own{ID: o.Prompt.SessionID})
	}
	return b.Backend.Run(ctx, o, tell)
}

// Read returns the conversations in a file that Notes have written; none for a file
// that isn't there. Lines that are no notes are passed over.
func Read(file string) ([]Own, error) {
	data, _, err := files.Read(file, maxNotes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	var own []Own
	for line := range bytes.Lines(data) {
		var o Own
		if json.Unmarshal(line, &o) == nil {
			own = append(own, o)
		}
	}
	return own, nil
}
