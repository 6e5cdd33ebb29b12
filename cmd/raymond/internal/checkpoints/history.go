package checkpoints

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

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state/journal"
)

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
func (s *Snapshot) addHistory(temp string, withTalks bool) (parts []checkpoint.Entry, notes []string) {
	path := filepath.Join(temp, checkpoint.HistoryName)
	err := s.history.copy(path, s.manifest.Seq)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []string{"The checkpoint lacks the history of the run, so no earlier state can be run again from it: " + err.Error() + "."}
	}
	if withTalks {
		if notes, err = s.addPast(path); err != nil {
			notes = []string{"The checkpoint lacks the conversations of earlier states: " + err.Error() + "."}
		}
	}
	return []checkpoint.Entry{{Name: checkpoint.HistoryName, Path: path, Size: -1}}, notes
}

// addPast adds the conversations that only the history refers to, newest first.
func (s *Snapshot) addPast(path string) (notes []string, err error) {
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
func (s *Snapshot) findPast(c journal.Conversation) (checkpoint.Transcript, checkpoint.Entry, bool) {
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
