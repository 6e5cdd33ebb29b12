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

// maxTalks is the size in bytes of the largest file that ReadTalks reads.
const maxTalks = 16 << 20

// Talks records in a file which conversations a step has created or restored, for the post phase of
// the step. Its methods may be called by any goroutine. A nil *Talks records nothing.
type Talks struct {
	file  string
	seals *Seals     // integrity log for the file; nil for none
	mu    sync.Mutex // guards the file
}

// NewTalks returns Talks that append to a file, which need not exist, and record the changes in
// seals.
func NewTalks(file string, seals *Seals) *Talks { return &Talks{file: file, seals: seals} }

// add records a conversation. It must be called before the first prompt of the conversation. If it
// fails, the conversation is not removed later.
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
		_, _ = f.Write(line) // otherwise the log would not match, and no conversation would be removed
	}
}

// AddPlaced records a conversation of an agent CLI that was restored.
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

// Wrap returns a backend for prompts that records each conversation before its first prompt.
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
	if own.ID == "" || o.Prompt.Session == state.Resume { // a resumed session has been recorded already
		return b.Backend.Run(ctx, o, tell)
	}
	b.notes.add(own)
	var once sync.Once
	return b.Backend.Run(ctx, o, func(p runner.Progress) { // may be called by several goroutines
		if p.CLIID != "" && p.CLIID != own.ID {
			once.Do(func() { b.notes.add(Own{ID: own.ID, Backend: own.Backend, CLIID: p.CLIID}) })
		}
		tell(p)
	})
}

// ReadTalks returns the conversations recorded in a file, or none if the file does not exist.
// Invalid lines are skipped.
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

// with returns the list with a conversation added, or updated by a later record of it.
func with(own []Own, o Own) []Own {
	for i := range own {
		if own[i].ID == o.ID && own[i].Backend == o.Backend {
			own[i].CLIID = cmp.Or(o.CLIID, own[i].CLIID)
			return own
		}
	}
	return append(own, o)
}
