package checkpoints

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// maxTalks is the size in bytes of the longest file that ReadTalks reads.
const maxTalks = 16 << 20

// Talks notes in a file which conversations are a step's own, for the post part of the
// step. Its methods may be called by any goroutine. A nil *Talks notes nothing.
type Talks struct {
	file  string
	seals *Seals     // of the file; nil for none
	mu    sync.Mutex // guards the file
}

// NewTalks adds to a file, which need not be there, and seals what it adds.
func NewTalks(file string, seals *Seals) *Talks { return &Talks{file: file, seals: seals} }

// add notes a conversation, and is for before anybody can speak in it. One that can't
// be noted is not removed later.
func (n *Talks) add(o Own) {
	n.mu.Lock()
	defer n.mu.Unlock()
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
	if n.seals.Append(n.file, line) == nil {
		_, _ = f.Write(line) // else the seal doesn't fit, and nothing is removed
	}
}

// AddPlaced notes the conversation of an agent CLI that was put back.
func (n *Talks) AddPlaced(cli runner.AgentCLI, c runner.Conversation) {
	if n == nil {
		return
	}
	stored, ok := cli.Find(c, []string{c.Dir})
	if !ok {
		return
	}
	if mark, err := transcripts.FingerprintOf(stored.Path); err == nil {
		n.add(Own{ID: c.ID, Backend: cli.Abilities().Backend, CLIID: c.CLI, Placed: &mark})
	}
}

// Wrap returns a backend of prompts that notes each conversation before its first
// prompt.
func (n *Talks) Wrap(b runner.Backend) runner.Backend {
	if n == nil {
		return b
	}
	return &noting{b, n}
}

// noting is the backend that Wrap returns.
type noting struct {
	runner.Backend
	notes *Talks
}

func (b *noting) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	own := Own{ID: o.Prompt.SessionID, Backend: o.Prompt.Backend}
	if own.ID == "" || o.Prompt.Session == state.Resume { // a session that is resumed has been noted
		return b.Backend.Run(ctx, o, tell)
	}
	b.notes.add(own)
	var once sync.Once
	return b.Backend.Run(ctx, o, func(p runner.Progress) { // called by several goroutines
		if p.CLIID != "" && p.CLIID != own.ID {
			once.Do(func() { b.notes.add(Own{ID: own.ID, Backend: own.Backend, CLIID: p.CLIID}) })
		}
		tell(p)
	})
}

// ReadTalks returns the conversations in a file that Talks have written; none for a file
// that isn't there. Lines that are none are passed over.
func ReadTalks(file string) ([]Own, error) {
	data, _, err := files.Read(file, maxTalks)
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
			own = with(own, o)
		}
	}
	return own, nil
}

// with returns the list with a conversation, or with what a later note says of it.
func with(own []Own, o Own) []Own {
	for i := range own {
		if own[i].ID == o.ID && own[i].Backend == o.Backend {
			own[i].CLIID = cmp.Or(o.CLIID, own[i].CLIID)
			return own
		}
	}
	return append(own, o)
}
