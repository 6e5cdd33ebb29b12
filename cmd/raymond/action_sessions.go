package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/state"
)

// The agent CLI keeps every conversation in its folder below HOME. On a machine
// that many jobs share they would stay there, secrets in clear, so the post part
// removes those of its step, once they are stored.

// ownSession is a conversation that this step has made, or put back.
type ownSession struct {
	ID string `json:"session"`
	// Placed is the file that was put back; nil for a conversation of this step's own.
	Placed *transcript.Mark `json:"placed,omitempty"`
}

// leftSession is a conversation that a run needs, as a step has left it.
type leftSession struct {
	transcript.Mark
	// Kept says that a checkpoint holds it, or that none may ever do.
	Kept bool `json:"kept"`
}

// mark is what a file that may be removed must be; nil where it must stay, and where
// the run needs it no more.
func (l leftSession) mark(isNeeded bool) *transcript.Mark {
	if !isNeeded || !l.Kept {
		return nil
	}
	return &l.Mark
}

// Its name is not one that a state file could have.
const sessionsFile = "sessions.note"

// maxSessions bounds what is read of such a file, in bytes.
const maxSessions = 16 << 20

// sessionNotes keeps which conversations are a step's own.
type sessionNotes struct {
	file  string
	mu    sync.Mutex // guards what follows, and the file
	known map[string]bool
}

// add notes a conversation before anybody can speak in it. One that can't be noted
// stays where it is.
func (n *sessionNotes) add(s ownSession) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known[s.ID] {
		return
	}
	line, err := json.Marshal(s)
	if err != nil {
		return
	}
	f, _, err := files.OpenFile(n.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err == nil {
		n.known[s.ID] = true
	}
}

// noting is a backend of prompts whose conversations are noted.
type noting struct {
	runner.Backend
	notes *sessionNotes
}

// Run implements runner.Backend.
func (b *noting) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	if o.Prompt.SessionID != "" && o.Prompt.Session != state.Resume { // or else it is noted already
		b.notes.add(ownSession{ID: o.Prompt.SessionID})
	}
	return b.Backend.Run(ctx, o, tell)
}

// noteSessions has the conversations of prompts noted; with store: local they stay.
func (x *action) noteSessions() func(runner.Backend) runner.Backend {
	if x.in.Store == job.StoreLocal {
		return nil
	}
	x.talks = &sessionNotes{file: filepath.Join(x.own, sessionsFile), known: map[string]bool{}}
	return func(b runner.Backend) runner.Backend { return &noting{b, x.talks} }
}

// notePlaced notes a conversation that was put back.
func (x *action) notePlaced(sessions transcript.Folder, t checkpoint.Transcript, dir string) {
	if x.talks == nil {
		return
	}
	if stored, ok := sessions.Find(t.Session, []string{dir}); ok {
		if mark, err := transcript.MarkOf(stored.Path); err == nil {
			x.talks.add(ownSession{t.Session, &mark})
		}
	}
}

// readSessions are the conversations that the main part has noted.
func (x *action) readSessions() ([]ownSession, error) {
	data, _, err := files.Read(filepath.Join(x.own, sessionsFile), maxSessions)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sessionsFile, err)
	}
	var list []ownSession
	for line := range bytes.Lines(data) {
		var s ownSession
		if json.Unmarshal(line, &s) == nil {
			list = append(list, s)
		}
	}
	return list, nil
}

// markSessions are the conversations that the run needs as they are when it is
// stored for the last time; nil before that.
func (d *depot) markSessions(img *image) map[string]leftSession {
	if !img.isLast {
		return nil
	}
	isKept := true
	for _, l := range d.left {
		isKept = isKept && (l.What != "transcripts" || l.Cause() != checkpoint.Unpacked)
	}
	out := map[string]leftSession{}
	for _, t := range img.transcripts {
		id := strings.TrimSuffix(filepath.Base(t.Name), ".jsonl")
		mark, err := transcript.MarkOf(t.Path)
		out[id] = leftSession{mark, isKept && err == nil && mark.Size == t.Size}
	}
	return out
}

// clearSessions removes the conversations that this step has made or put back from
// the agent CLI's folder. They stay when the end of the run could not be stored, and
// with store: local.
func (x *action) clearSessions() error {
	own, err := x.readSessions()
	if err != nil || len(own) == 0 || x.in.Store == job.StoreLocal {
		return err
	}
	c, err := readChain(filepath.Join(x.dir, x.note.WorkflowID))
	isUnstored := x.note.Lost || errors.Is(err, os.ErrNotExist) // and never will be
	if err != nil && !isUnstored || !isUnstored && !x.endStored {
		return nil
	}
	sessions := transcript.Folder{Env: job.AgentEnviron(x.app.Environ, x.in.Env)}
	var failed []string
	for _, s := range own {
		only := s.Placed // the checkpoint that it came from has it
		if left, isNeeded := c.Sessions[s.ID]; !isUnstored {
			only = left.mark(isNeeded)
			if isNeeded && only == nil {
				continue
			}
		}
		if err := sessions.Clear(s.ID, only); err != nil {
			failed = append(failed, s.ID)
		}
	}
	if len(failed) > 0 {
		x.warn("these conversations of agents could not be removed from the agent CLI's folder: " + strings.Join(failed, ", "))
	}
	return nil
}
