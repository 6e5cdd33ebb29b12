package store

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
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// Conversation is a conversation that a step has created or restored.
type Conversation struct {
	ID string `json:"session"`
	// Backend is the agent CLI, "" for the default one. CLIID is the CLI's own id of the
	// conversation, "" if it equals ID or is not known.
	Backend string `json:"backend,omitempty"`
	CLIID   string `json:"cli_id,omitempty"`
	// Placed identifies the content of the restored file; nil for a conversation that the step has
	// created.
	Placed *runner.Fingerprint `json:"placed,omitempty"`
}

// remaining is a conversation that a run needs, as a step has left it.
type remaining struct {
	runner.Fingerprint
	// Kept is set if a checkpoint contains the conversation, or never will.
	Kept bool `json:"kept"`
}

// remainingOf returns the conversations, by session, that a run needs at the end of a step. parts
// are their files for the checkpoint. isKept is true if these have been stored, or never will be. A
// file that has changed in between does not count as kept.
func remainingOf(parts []checkpoint.Entry, isKept bool) map[string]remaining {
	all := map[string]remaining{}
	for _, t := range parts {
		id := strings.TrimSuffix(filepath.Base(t.Name), ".jsonl")
		mark, err := transcripts.FingerprintOf(t.Path)
		all[id] = remaining{mark, isKept && err == nil && mark.Size == t.Size}
	}
	return all
}

// clearConversations removes the conversations of a step from the directories of the agent CLIs, because on
// a shared machine they would stay there with the secrets in them. It returns the sessions of
// conversations that it could not remove. A conversation that the run still needs, according to the
// chain, is removed only if it was stored and has not changed since. If the end of the run will
// never be stored (isUnstored), the chain is ignored: the step's own conversations are removed, and
// restored ones unless they have changed.
func clearConversations(agents map[string]runner.AgentCLI, own []Conversation, c chain, isUnstored bool) (failed []string) {
	for _, o := range own {
		only := o.Placed // the checkpoint that it came from contains it
		if l, isNeeded := c.Sessions[o.ID]; isNeeded && !isUnstored {
			if !l.Kept {
				continue
			}
			only = &l.Fingerprint
		} else if !isUnstored {
			only = nil // the run no longer needs it, changed or not
		}
		cli := agents[cmp.Or(o.Backend, protocol.DefaultBackend)]
		if cli == nil || cli.Clear(runner.Conversation{ID: o.ID, CLI: o.CLIID}, only) != nil {
			failed = append(failed, o.ID)
		}
	}
	return failed
}

// maxConversations is the size in bytes of the largest file that ReadConversations reads.
const maxConversations = 16 << 20

// ConversationLog records in a file which conversations a step has created or restored, for the post
// phase of the step. Its methods may be called by any goroutine.
type ConversationLog struct {
	file      string
	integrity IntegrityLog
	mu        sync.Mutex // guards the file
}

// NewConversationLog returns a ConversationLog that appends to a file, which need not exist.
func NewConversationLog(file string, integrity IntegrityLog) *ConversationLog {
	return &ConversationLog{file: file, integrity: integrity}
}

// add records a conversation. It must be called before the first prompt of the conversation. If it
// fails, the conversation is not removed later.
func (l *ConversationLog) add(o Conversation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, err := json.Marshal(o)
	if err != nil {
		return
	}
	f, _, err := files.OpenFile(l.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	line = append(line, '\n')
	if l.integrity.Append(l.file, line) == nil {
		_, _ = f.Write(line) // otherwise the log would not match, and no conversation would be removed
	}
}

// AddPlaced records a conversation of an agent CLI that was restored.
func (l *ConversationLog) AddPlaced(cli runner.AgentCLI, c runner.Conversation) {
	stored, ok := cli.Find(c, []string{c.Dir})
	if !ok {
		return
	}
	if mark, err := transcripts.FingerprintOf(stored.Path); err == nil {
		l.add(Conversation{ID: c.ID, Backend: cli.Abilities().Backend, CLIID: c.CLI, Placed: &mark})
	}
}

// Wrap returns a backend for prompts that records each conversation before its first prompt.
func (l *ConversationLog) Wrap(b runner.Backend) runner.Backend {
	return &recordingBackend{b, l}
}

// recordingBackend is the backend that Wrap returns.
type recordingBackend struct {
	runner.Backend
	log *ConversationLog
}

func (b *recordingBackend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	own := Conversation{ID: o.Prompt.SessionID, Backend: o.Prompt.Backend}
	if own.ID == "" || o.Prompt.Session == state.Resume { // a resumed session has been recorded already
		return b.Backend.Run(ctx, o, tell)
	}
	b.log.add(own)
	var once sync.Once
	return b.Backend.Run(ctx, o, func(p runner.Progress) { // may be called by several goroutines
		if p.CLIID != "" && p.CLIID != own.ID {
			once.Do(func() { b.log.add(Conversation{ID: own.ID, Backend: own.Backend, CLIID: p.CLIID}) })
		}
		tell(p)
	})
}

// ReadConversations returns the conversations recorded in a file, or none if the file does not exist.
// Invalid lines are skipped.
func ReadConversations(file string) ([]Conversation, error) {
	data, _, err := files.Read(file, maxConversations)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	var own []Conversation
	for line := range bytes.Lines(data) {
		var o Conversation
		if json.Unmarshal(line, &o) == nil {
			own = with(own, o)
		}
	}
	return own, nil
}

// with returns the list with a conversation added, or updated by a later record of it.
func with(own []Conversation, o Conversation) []Conversation {
	for i := range own {
		if own[i].ID == o.ID && own[i].Backend == o.Backend {
			own[i].CLIID = cmp.Or(o.CLIID, own[i].CLIID)
			return own
		}
	}
	return append(own, o)
}
