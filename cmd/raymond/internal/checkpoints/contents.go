package checkpoints

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// made is a checkpoint that was written, and what is said of it.
type made struct {
	checkpoint.WriteResult
	archive  io.ReaderAt
	remove   func()   // the archive
	notes    []string // what it lacks, for people
	sessions map[string]left
}

// manifest returns what identifies the next checkpoint of the chain.
func (s *Store) manifest(shot *Snapshot) checkpoint.Manifest {
	m, c, run := s.o.Origin, &s.chain, &shot.manifest
	m.Generation, m.Previous, m.Base = c.Generation+1, c.Digest, c.Base
	m.WorkflowID, m.Status, m.Reason, m.Seq = run.WorkflowID, run.Status, run.Reason, run.Seq
	m.TotalUSD, m.Estimated = run.TotalUSD, run.Estimated
	m.Iterations, m.Created = run.Iterations, run.Created
	m.Transcripts = run.Transcripts
	m.KeyOrigin, m.Checkout, m.Input, m.Supersedes = c.Began.KeyOf, c.Began.Checkout, c.Began.Input, c.Began.Supersedes
	return m
}

// writeFile writes all that may be stored of a run to a file. With an error it still returns
// the notes.
func (s *Store) writeFile(shot *Snapshot, w work) (made, error) {
	temp, err := os.MkdirTemp(s.o.Temp, "checkpoint-")
	if err != nil {
		return made{}, err
	}
	f, err := os.Create(filepath.Join(temp, "checkpoint.zip"))
	if err != nil {
		return made{}, errors.Join(err, os.RemoveAll(temp))
	}
	m := made{archive: f, remove: func() { _ = errors.Join(f.Close(), os.RemoveAll(temp)) }}
	what, notes, err := s.whole(shot, w, temp)
	if m.notes = notes; err == nil {
		m.WriteResult, err = checkpoint.Write(f, what)
	}
	if err != nil {
		m.remove()
	}
	return m, err
}

// whole says what a checkpoint of all that may be stored of a run has, with notes. What is made for
// it is put into a folder.
func (s *Store) whole(shot *Snapshot, w work, temp string) (what checkpoint.WriteRequest, notes []string, err error) {
	isOpen := s.o.IsOpen()
	parts, err := shot.logs()
	if err != nil {
		return what, w.Notes, fmt.Errorf("read logs: %w", err)
	}
	past, notes := shot.addHistory(temp, !isOpen)
	notes = slices.Concat(w.Notes, notes)
	if parts = append(parts, past...); shot.events.Path != "" {
		parts = append(parts, shot.events)
	}
	m := s.manifest(shot)
	if isOpen {
		m.Transcripts = nil
		m.Omissions = []checkpoint.Omission{
			{What: "transcripts", Existed: len(shot.transcripts) > 0, Why: checkpoint.NoKey}, {What: "workspace", Existed: w.HasWork, Why: checkpoint.NoKey},
		}
		for _, lost := range m.Missing() {
			notes = append(notes, "The checkpoint lacks the "+lost+", since anybody may read artifacts of a public repository.")
		}
	} else {
		parts = slices.Concat(parts, shot.transcripts, w.parts)
		if w.lost != "" {
			m.Omissions = []checkpoint.Omission{{What: "workspace", Existed: true, Why: w.lost}}
		}
	}
	return s.writing(shot, m, parts, w.RequiredNames), notes, nil
}

// writing is a checkpoint of a snapshot with its state and more parts. Names are what must stay as it is.
func (s *Store) writing(shot *Snapshot, m checkpoint.Manifest, more []checkpoint.Entry, names []string) checkpoint.WriteRequest {
	parts := append(more, checkpoint.Entry{Name: "state.json", Data: shot.state})
	return checkpoint.WriteRequest{Manifest: m, Entries: parts, Keys: s.o.Keys, Mask: s.o.Mask.Except(slices.Concat(shot.dirs, names)).MaskReader}
}

// writeState makes a checkpoint of the state alone, in memory, as the disk may be full; why says why the rest could not be packed.
func (s *Store) writeState(shot *Snapshot, w work, why error) (made, error) {
	m := s.manifest(shot)
	m.Transcripts = nil
	if len(shot.transcripts) > 0 {
		m.Omissions = append(m.Omissions, checkpoint.Omission{What: "transcripts", Existed: true, Why: causeOf(why)})
	}
	if w.HasWork {
		m.Omissions = append(m.Omissions, checkpoint.Omission{What: "workspace", Existed: true, Why: causeOf(why)})
	}
	var to bytes.Buffer
	written, err := checkpoint.Write(&to, s.writing(shot, m, nil, nil))
	if err != nil {
		return made{}, errors.Join(why, err)
	}
	return made{
		WriteResult: written, archive: bytes.NewReader(to.Bytes()), remove: func() {},
		notes: []string{"The checkpoint has the state alone, since the rest could not be packed: " + why.Error() + "."},
	}, nil
}
