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

// made is a checkpoint that was written to an archive, and the notes about it.
type made struct {
	checkpoint.WriteResult
	archive  io.ReaderAt
	remove   func()   // removes the archive
	notes    []string // missing contents, for users
	sessions map[string]left
}

// manifest returns the manifest of the next checkpoint of the chain.
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

// writeFile writes everything that may be stored of a run to a file. It returns the notes even with
// an error.
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

// whole returns the contents of a complete checkpoint of a run, with notes about contents that may
// not be stored. It creates files in temp.
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
			notes = append(notes, "The checkpoint lacks the "+lost+", because anyone can read the artifacts of a public repository.")
		}
	} else {
		parts = slices.Concat(parts, shot.transcripts, w.parts)
		if w.lost != "" {
			m.Omissions = []checkpoint.Omission{{What: "workspace", Existed: true, Why: w.lost}}
		}
	}
	return s.writing(shot, m, parts, w.RequiredNames), notes, nil
}

// writing returns the contents of a checkpoint: the snapshot's state and more parts. names are
// words that must not be masked.
func (s *Store) writing(shot *Snapshot, m checkpoint.Manifest, more []checkpoint.Entry, names []string) checkpoint.WriteRequest {
	parts := append(more, checkpoint.Entry{Name: "state.json", Data: shot.state})
	return checkpoint.WriteRequest{Manifest: m, Entries: parts, Keys: s.o.Keys, Mask: s.o.Mask.Except(slices.Concat(shot.dirs, names)).MaskReader}
}

// writeState writes a checkpoint with only the state, in memory because the disk may be full. why
// is the reason why the rest could not be packed.
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
		notes: []string{"The checkpoint contains only the state, because the rest could not be packed: " + why.Error() + "."},
	}, nil
}
