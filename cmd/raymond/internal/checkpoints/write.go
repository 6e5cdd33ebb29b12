package checkpoints

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/conversations"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
)

// draft is all that a checkpoint is made of.
type draft struct {
	snapshot *Snapshot
	work     work
	manifest checkpoint.Manifest
	keys     *checkpoint.Keys
	mask     *secrets.Set
	isOpen   bool // anybody may read it, and nothing is encrypted
}

// made is a checkpoint that was written to a file, and what is said of it.
type made struct {
	checkpoint.Written
	leftOut  []checkpoint.LeftOut // what it lacks of what there was
	notes    []string             // what it lacks, for people
	sessions map[string]conversations.Left
}

// manifest returns what identifies the next checkpoint of a chain. The origin has
// what is the same for all checkpoints of the job.
func manifest(origin checkpoint.Manifest, c Chain, run checkpoint.Manifest) checkpoint.Manifest {
	m := origin
	m.Generation, m.Previous, m.Base = c.Generation+1, c.Digest, c.Base
	m.WorkflowID, m.Status, m.Reason, m.Seq = run.WorkflowID, run.Status, run.Reason, run.Seq
	m.TotalUSD, m.Estimated = run.TotalUSD, run.Estimated
	m.Iterations, m.Created = run.Iterations, run.Created
	m.Transcripts = run.Transcripts
	m.KeyOf, m.States, m.Checkout, m.Input = c.Began.KeyOf, c.Began.States, c.Began.Checkout, c.Began.Input
	return m
}

// writeWhole writes all that may be stored of a run. With an error it still returns
// the notes.
func (d draft) writeWhole(to *os.File) (made, error) {
	out := made{notes: d.work.notes}
	parts, err := d.snapshot.logs()
	if err != nil {
		return out, fmt.Errorf("read logs: %w", err)
	}
	parts = append(parts, checkpoint.Part{Name: "state.json", Data: d.snapshot.state})
	past, notes := d.snapshot.addHistory(filepath.Dir(to.Name()), !d.isOpen)
	parts, out.notes = append(parts, past...), append(slices.Clone(out.notes), notes...)
	d.manifest.Transcripts = d.snapshot.manifest.Transcripts
	if d.snapshot.events.Path != "" {
		parts = append(parts, d.snapshot.events)
	}
	m, transcripts := d.manifest, d.snapshot.transcripts
	switch {
	case d.isOpen:
		m.Transcripts = nil
		m.LeftOut = []checkpoint.LeftOut{
			{What: "transcripts", Held: len(transcripts) > 0, Why: checkpoint.NoKey}, {What: "workspace", Held: d.work.held, Why: checkpoint.NoKey},
		}
		out.notes = append(slices.Clone(out.notes), openNotes(m.LeftOut)...)
	default:
		parts = append(append(parts, transcripts...), d.work.parts...)
		if d.work.lost != "" {
			m.LeftOut = append(m.LeftOut, checkpoint.LeftOut{What: "workspace", Held: true, Why: d.work.lost})
		}
	}
	out.leftOut = slices.DeleteFunc(slices.Clone(m.LeftOut), func(l checkpoint.LeftOut) bool { return !l.Held })
	hide := d.mask.Sparing(slices.Concat(d.snapshot.dirs, d.work.names))
	out.Written, err = checkpoint.Write(to, checkpoint.Writing{Manifest: m, Parts: parts, Keys: d.keys, Mask: hide.Fill})
	return out, err
}

// writeState writes the state of a run alone, since the rest could not be packed.
func (d draft) writeState(to *os.File) (made, error) {
	var out made
	if len(d.snapshot.transcripts) > 0 {
		out.leftOut = append(out.leftOut, checkpoint.LeftOut{What: "transcripts", Held: true, Why: checkpoint.Unpacked})
	}
	if d.work.held {
		out.leftOut = append(out.leftOut, checkpoint.LeftOut{What: "workspace", Held: true, Why: checkpoint.Unpacked})
	}
	m := d.manifest
	m.Transcripts, m.LeftOut = nil, out.leftOut
	var err error
	out.Written, err = checkpoint.Write(to, checkpoint.Writing{
		Manifest: m, Parts: []checkpoint.Part{{Name: "state.json", Data: d.snapshot.state}}, Keys: d.keys, Mask: d.mask.Sparing(d.snapshot.dirs).Fill,
	})
	return out, err
}

// openNotes says what a checkpoint that anybody may read lacks.
func openNotes(left []checkpoint.LeftOut) []string {
	var notes []string
	for _, l := range left {
		if l.Held {
			notes = append(notes, "The checkpoint lacks the "+l.What+", since anybody may read artifacts of a public repository: "+
				"set `state-key` to have all of it stored, encrypted.")
		}
	}
	return notes
}

// leftBehind returns the conversations that the run needs, as they are when its end
// is stored.
func leftBehind(s *Snapshot, left []checkpoint.LeftOut) map[string]conversations.Left {
	isLost := slices.ContainsFunc(left, func(l checkpoint.LeftOut) bool {
		return l.What == "transcripts" && l.Cause() == checkpoint.Unpacked
	})
	return conversations.LeftBehind(s.transcripts, !isLost)
}
