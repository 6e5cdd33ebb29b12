package store

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// maxLogs is the maximum number of bytes of logs in a checkpoint.
const maxLogs = 128 << 20

// snapshot is a run at the end of a step, from which a checkpoint is made. For files that only
// grow, it has their length at that time, because data that is added later belongs to later steps.
type snapshot struct {
	isLast bool // the last snapshot of the step: an incomplete checkpoint is better than none

	manifest    checkpoint.Manifest // without the fields about earlier checkpoints
	state       []byte
	events      checkpoint.Entry
	transcripts []checkpoint.Entry // one for each of manifest.Transcripts
	history     history
	dir         string   // the run's directory
	dirs        []string // where agents work; the run's own comes first
	hasPrompted bool
}

// takeSnapshot makes a snapshot of a run with its files in dir. It copies no files, so it is fast
// enough for the goroutine that owns the run, and only that goroutine may call it. agents has the
// agent CLIs by name, with the conversations of the run. log is the integrity log of the run's files,
// and m the run's manifest.
func takeSnapshot(run *state.Run, m checkpoint.Manifest, dir string, agents map[string]runner.AgentCLI, log IntegrityLog) (*snapshot, error) {
	data, err := run.Encode()
	if err != nil {
		return nil, err
	}
	h := history{path: dir + journal.Ext, size: -1, agents: agents}
	if size, sum, ok := log.Content(h.path); ok {
		h.size, h.sum = size, sum
	}
	m.Created = time.Now().UTC().Truncate(time.Millisecond)
	s := &snapshot{manifest: m, state: data, dir: dir, dirs: run.Dirs(), history: h, hasPrompted: run.HasPrompted()}
	for _, one := range checkpoint.Sessions(run) {
		t := checkpoint.Transcript{Session: one.ID, Backend: one.Backend, CLIID: one.CLIID}
		if t, part, ok := s.find(t, one.Dirs); ok {
			s.add(t, part)
		}
	}
	events := filepath.Join(dir, session.EventsFile)
	if info, err := os.Lstat(events); err == nil && info.Mode().IsRegular() {
		s.events = checkpoint.Entry{Name: session.EventsFile, Path: events, Size: info.Size()}
	}
	return s, nil
}

// find finds a conversation whose agent worked in one of the given directories; ok is false if it
// does not exist.
func (s *snapshot) find(t checkpoint.Transcript, dirs []string) (checkpoint.Transcript, checkpoint.Entry, bool) {
	cli, ok := s.history.agents[t.Backend]
	if !ok {
		return t, checkpoint.Entry{}, false
	}
	found, ok := cli.Find(runner.Conversation{ID: t.Session, CLI: t.CLIID}, dirs)
	t.Dir = found.Dir
	return t, checkpoint.Entry{Name: t.Name(), Path: found.Path, Size: found.Size}, ok
}

func (s *snapshot) add(t checkpoint.Transcript, part checkpoint.Entry) {
	s.transcripts = append(s.transcripts, part)
	s.manifest.Transcripts = append(s.manifest.Transcripts, t)
}

// logs returns the logs of the run, as far as they fit into a checkpoint.
func (s *snapshot) logs() ([]checkpoint.Entry, error) {
	var parts []checkpoint.Entry
	room := int64(maxLogs)
	root := filepath.Join(s.dir, "logs")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil && path == root {
			return nil // the run has written no logs
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.dir, path)
		name := filepath.ToSlash(rel)
		if err != nil || checkpoint.CheckName(name) != nil || info.Size() > room {
			return err
		}
		room -= info.Size()
		parts = append(parts, checkpoint.Entry{Name: name, Path: path, Size: info.Size()})
		return nil
	})
	return parts, err
}

// maxPast is the maximum number of bytes in a checkpoint for conversations that only earlier steps
// refer to.
const maxPast = 64 << 20

// history is the journal of a run at the time of a snapshot.
type history struct {
	path   string
	size   int64 // -1: not recorded in the integrity log
	sum    [sha256.Size]byte
	agents map[string]runner.AgentCLI
}

// errAltered is the error for a history that another program has changed.
var errAltered = errors.New("the file was altered")

// copy writes the history, up to the given step of the run, to a file.
func (h *history) copy(to string, seq int) error {
	f, _, err := files.Open(h.path)
	if err != nil {
		return err
	}
	defer f.Close()
	out, _, err := files.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum, from := sha256.New(), io.Reader(f)
	if h.size >= 0 {
		from = io.TeeReader(io.LimitReader(f, h.size), sum)
	}
	buffered := bufio.NewWriter(out)
	err = errors.Join(journal.Copy(buffered, from, seq), buffered.Flush(), out.Close())
	if err == nil && h.size >= 0 && [sha256.Size]byte(sum.Sum(nil)) != h.sum {
		return errAltered
	}
	return err
}

// addHistory adds the history of the run to the snapshot, with the conversations that a rerun from
// an earlier step may need. A checkpoint without the history is still useful, so missing contents
// are notes rather than errors.
func (s *snapshot) addHistory(temp string, withConversations bool) (parts []checkpoint.Entry, notes []string) {
	path := filepath.Join(temp, checkpoint.HistoryName)
	err := s.history.copy(path, s.manifest.Seq)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []string{"The checkpoint lacks the history of the run, so no earlier state can be run again from it: " + err.Error() + "."}
	}
	if withConversations {
		if notes, err = s.addPast(path); err != nil {
			notes = []string{"The checkpoint lacks the conversations of earlier states: " + err.Error() + "."}
		}
	}
	return []checkpoint.Entry{{Name: checkpoint.HistoryName, Path: path, Size: -1}}, notes
}

// addPast adds the conversations that only the history refers to, newest first.
func (s *snapshot) addPast(path string) (notes []string, err error) {
	f, _, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	past, err := journal.Conversations(f)
	if err != nil {
		return nil, err
	}
	room, added, left := int64(maxPast), 0, 0
	for _, c := range past {
		t, part, ok := s.findPast(c)
		switch {
		case !ok:
		case part.Size > room:
			left++
		default:
			room, added = room-part.Size, added+1
			s.add(t, part)
		}
	}
	if left > 0 {
		notes = append(notes, fmt.Sprintf("The checkpoint contains only the newest %d of %d conversations of earlier states, because there is no room for more. "+
			"A rerun from an older state starts its conversations anew.", added, added+left))
	}
	return notes, nil
}

// findPast finds a conversation that the snapshot does not contain yet; ok is false if there is
// none.
func (s *snapshot) findPast(c journal.Conversation) (checkpoint.Transcript, checkpoint.Entry, bool) {
	t := checkpoint.Transcript{Session: c.Session.ID, Backend: c.Session.BackendName(), CLIID: c.Session.CLIID}
	if checkpoint.CheckName(t.Name()) != nil || slices.ContainsFunc(s.transcripts, func(p checkpoint.Entry) bool { return p.Name == t.Name() }) {
		return t, checkpoint.Entry{}, false
	}
	dirs := s.dirs
	if c.Dir != "" {
		dirs = append([]string{c.Dir}, dirs...)
	}
	return s.find(t, dirs)
}
