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
	checkpoint.Written
	archive  io.ReaderAt
	remove   func()               // the archive
	leftOut  []checkpoint.LeftOut // what it lacks of what there was
	notes    []string             // what it lacks, for people
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
	m.KeyOf, m.Checkout, m.Input = c.Began.KeyOf, c.Began.Checkout, c.Began.Input
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
	m, err := s.writeWhole(f, shot, w)
	m.archive, m.remove = f, func() { _ = errors.Join(f.Close(), os.RemoveAll(temp)) }
	if err != nil {
		m.remove()
	}
	return m, err
}

// writeWhole writes all that may be stored of a run. With an error it still returns
// the notes.
func (s *Store) writeWhole(to *os.File, shot *Snapshot, w work) (made, error) {
	out, isOpen := made{notes: w.notes}, s.o.IsOpen()
	parts, err := shot.logs()
	if err != nil {
		return out, fmt.Errorf("read logs: %w", err)
	}
	parts = append(parts, checkpoint.Part{Name: "state.json", Data: shot.state})
	past, notes := shot.addHistory(filepath.Dir(to.Name()), !isOpen)
	parts, out.notes = append(parts, past...), append(slices.Clone(out.notes), notes...)
	if shot.events.Path != "" {
		parts = append(parts, shot.events)
	}
	m, transcripts := s.manifest(shot), shot.transcripts
	switch {
	case isOpen:
		m.Transcripts = nil
		m.LeftOut = []checkpoint.LeftOut{
			{What: "transcripts", Held: len(transcripts) > 0, Why: checkpoint.NoKey}, {What: "workspace", Held: w.held, Why: checkpoint.NoKey},
		}
		out.notes = append(slices.Clone(out.notes), openNotes(m.LeftOut)...)
	default:
		parts = append(append(parts, transcripts...), w.parts...)
		if w.lost != "" {
			m.LeftOut = append(m.LeftOut, checkpoint.LeftOut{What: "workspace", Held: true, Why: w.lost})
		}
	}
	out.leftOut = slices.DeleteFunc(slices.Clone(m.LeftOut), func(l checkpoint.LeftOut) bool { return !l.Held })
	hide := s.o.Mask.Sparing(slices.Concat(shot.dirs, w.names))
	out.Written, err = checkpoint.Write(to, checkpoint.Writing{Manifest: m, Parts: parts, Keys: s.o.Keys, Mask: hide.Fill})
	return out, err
}

// writeState makes a checkpoint of the state alone, in memory, as the disk may be full; why says why the rest could not be packed.
func (s *Store) writeState(shot *Snapshot, w work, why error) (made, error) {
	out := made{remove: func() {}, notes: []string{"The checkpoint has the state alone, since the rest could not be packed: " + why.Error() + "."}}
	if len(shot.transcripts) > 0 {
		out.leftOut = append(out.leftOut, checkpoint.LeftOut{What: "transcripts", Held: true, Why: checkpoint.Unpacked})
	}
	if w.held {
		out.leftOut = append(out.leftOut, checkpoint.LeftOut{What: "workspace", Held: true, Why: checkpoint.Unpacked})
	}
	m := s.manifest(shot)
	m.Transcripts, m.LeftOut = nil, out.leftOut
	var err error
	var to bytes.Buffer
	out.Written, err = checkpoint.Write(&to, checkpoint.Writing{
		Manifest: m, Parts: []checkpoint.Part{{Name: "state.json", Data: shot.state}}, Keys: s.o.Keys, Mask: s.o.Mask.Sparing(shot.dirs).Fill,
	})
	if err != nil {
		return made{}, errors.Join(why, err)
	}
	out.archive = bytes.NewReader(to.Bytes())
	return out, nil
}

// openNotes says what a checkpoint that anybody may read lacks.
func openNotes(left []checkpoint.LeftOut) []string {
	var notes []string
	for _, l := range left {
		if l.Held {
			notes = append(notes, "The checkpoint lacks the "+l.What+", since anybody may read artifacts of a public repository.")
		}
	}
	return notes
}
