package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
)

// chain is the state of a run's sequence of checkpoints. It is saved in a file, so that the post
// phase of the step can add checkpoints.
type chain struct {
	Generation int              `json:"generation"` // of the last checkpoint; 0 before the first one
	Digest     string           `json:"digest"`     // of its manifest
	Base       *checkpoint.Base `json:"base,omitempty"`
	Seq        int              `json:"seq"`    // the step of the run that the last checkpoint contains
	Status     state.Status     `json:"status"` // of the run in the last checkpoint
	Start      RunStart         `json:"start"`
	Name       string           `json:"name"`   // of the artifact
	Stored     int              `json:"stored"` // how many artifacts this job has stored
	// Existing are the artifacts that this step may replace, as slots.Slots.Own returns them. The
	// last one may be an upload that had not been confirmed when the chain was saved.
	Existing []artifacts.Artifact `json:"existing"`
	// Sessions has the conversations that the run needs, as this step has left them; nil before the
	// end of the run is stored.
	Sessions map[string]remaining `json:"sessions,omitempty"`
}

// chain returns the chain of the run that is restored: the next checkpoint of a resumed run follows the
// one that was found.
func (l *Lookup) chain(to Target) chain {
	m := l.Manifest
	if to.ID != "" || m == nil {
		return chain{Start: to.Start}
	}
	return chain{
		Start: to.Start, Generation: m.Generation, Digest: l.Digest, Seq: m.Seq, Status: m.Status, Name: l.Artifact.Name,
		Base: &checkpoint.Base{ArtifactID: l.Artifact.ID, Digest: l.Digest, RunID: m.RunID},
	}
}

// ChainFile is the name of the file, in the run's directory, that has the state of its checkpoints.
const ChainFile = "checkpoint.json"

// readChain reads the chain of a run from the run's directory. The error is an fs.ErrNotExist if no
// checkpoint of the run was to be stored.
func readChain(dir string) (c chain, err error) {
	err = files.ReadJSON(filepath.Join(dir, ChainFile), &c)
	return c, err
}

// last identifies the last checkpoint of a run.
func (c *chain) last(run *state.Run) slots.Named {
	if c.Generation == 0 || c.Digest == "" {
		return slots.Named{}
	}
	return slots.Named{WorkflowID: run.WorkflowID, Generation: c.Generation, Digest: c.Digest}
}

// shelf stores the archives of one run's checkpoints. It is implemented by slots.Slots.
type shelf interface {
	Store(ctx context.Context, generation int, content artifacts.NewArtifact) (artifacts.Artifact, error)
	Own() []artifacts.Artifact // the archives that may be replaced
	Stored() int               // how many archives this job has stored
}

// writer makes the checkpoints of a run and stores them, one after the other. Only one goroutine at a
// time may use it.
type writer struct {
	c      *Config
	origin checkpoint.Manifest // see Config.origin
	dir    string              // the run's directory, with the file of the chain
	chain  chain
	shelf  shelf
	packer packer
	// prepare is called before each checkpoint is made. An error ends the save.
	prepare func(context.Context) error
	last    built // the last checkpoint that was made, stored or not
}

// built is a checkpoint that was written to an archive, and the notes about it.
type built struct {
	checkpoint.WriteResult
	archive  io.ReaderAt
	remove   func()   // removes the archive
	notes    []string // missing contents, for users
	sessions map[string]remaining
}

// newWriter returns a writer for the checkpoints of a run with its files in dir.
func newWriter(c *Config, origin checkpoint.Manifest, dir, base string, to shelf, from chain) *writer {
	return &writer{
		c: c, origin: origin, dir: dir, chain: from, shelf: to, prepare: func(context.Context) error { return nil },
		packer: packer{tree: c.Worktree, snapshots: c.Worktree.Snapshots(dir), base: base, temp: c.Dir},
	}
}

// save stores a snapshot as the next checkpoint and saves the chain. Its errors come from prepare,
// from making the checkpoint, or from the shelf.
func (w *writer) save(ctx context.Context, shot *snapshot) (stored state.Checkpoint, err error) {
	if err := w.prepare(ctx); err != nil {
		return stored, err
	}
	if shot.isLast {
		defer func() { _ = w.packer.discard() }() // if this fails, the post phase removes the directory
	}
	m, err := w.build(ctx, shot)
	if err != nil {
		return stored, err
	}
	defer m.remove()
	// The post phase must recognize the artifact if this process dies during the upload. The last
	// snapshot is stored even if the chain can't be saved, as on a full disk.
	if err := w.writeChain(artifacts.Artifact{Digest: m.SHA256}); err != nil && !shot.isLast {
		return stored, err
	}
	a, err := w.shelf.Store(ctx, m.Manifest.Generation, artifacts.NewArtifact{Content: m.archive, Size: m.Size, Digest: m.SHA256})
	if err != nil {
		return stored, err
	}
	c, last := &w.chain, m.Manifest
	c.Generation, c.Digest, c.Seq, c.Status, c.Name, c.Sessions = last.Generation, m.Digest, last.Seq, last.Status, a.Name, m.sessions
	if err := w.writeChain(); err != nil && !shot.isLast {
		return stored, err
	}
	return state.Checkpoint{Store: a.Name, SeqStored: last.Seq, Bytes: m.Size}, nil
}

// writeChain saves the chain for readChain, with artifacts that are about to be uploaded.
func (w *writer) writeChain(sent ...artifacts.Artifact) error {
	w.chain.Stored, w.chain.Existing = w.shelf.Stored(), append(w.shelf.Own(), sent...)
	return w.c.Integrity.Note(filepath.Join(w.dir, ChainFile), w.chain)
}

// build makes a checkpoint. If the last snapshot can't be packed completely, the checkpoint contains
// only the state.
func (w *writer) build(ctx context.Context, shot *snapshot) (built, error) {
	w.last.notes = nil
	packed, err := w.packer.pack(ctx, shot)
	if err != nil {
		return built{}, err
	}
	m, err := w.writeFile(shot, packed)
	isLost := !slices.Contains([]string{"", checkpoint.TooLarge, checkpoint.NoGit}, packed.lost)
	if err != nil && shot.isLast && ctx.Err() == nil && !errors.Is(err, checkpoint.ErrTooLarge) {
		m, err = w.writeState(shot, packed, err)
		isLost = true
	}
	if err != nil {
		w.last.notes = m.notes
		return built{}, err
	}
	if isLost {
		for _, note := range m.notes {
			w.c.Log.Warn(note)
		}
	}
	if shot.isLast {
		isLost := slices.ContainsFunc(m.Manifest.Omissions, func(l checkpoint.Omission) bool { return l.What == "transcripts" && l.Why != checkpoint.NoKey })
		m.sessions = remainingOf(shot.transcripts, !isLost)
	}
	w.last = m
	return m, nil
}

// writeFile writes everything that may be stored of a run to a file. It returns the notes even with
// an error.
func (w *writer) writeFile(shot *snapshot, packed work) (built, error) {
	temp, err := os.MkdirTemp(w.c.Dir, "checkpoint-")
	if err != nil {
		return built{}, err
	}
	f, err := os.Create(filepath.Join(temp, "checkpoint.zip"))
	if err != nil {
		return built{}, errors.Join(err, os.RemoveAll(temp))
	}
	m := built{archive: f, remove: func() { _ = errors.Join(f.Close(), os.RemoveAll(temp)) }}
	what, notes, err := w.fullContents(shot, packed, temp)
	if m.notes = notes; err == nil {
		m.WriteResult, err = checkpoint.Write(f, what)
	}
	if err != nil {
		m.remove()
	}
	return m, err
}

// fullContents returns the contents of a complete checkpoint of a run, with notes about contents that
// may not be stored. It creates files in temp.
func (w *writer) fullContents(shot *snapshot, packed work, temp string) (what checkpoint.WriteRequest, notes []string, err error) {
	isOpen := w.c.isOpen()
	parts, err := shot.logs()
	if err != nil {
		return what, packed.Notes, fmt.Errorf("read logs: %w", err)
	}
	past, notes := shot.addHistory(temp, !isOpen)
	notes = slices.Concat(packed.Notes, notes)
	if parts = append(parts, past...); shot.events.Path != "" {
		parts = append(parts, shot.events)
	}
	var omissions []checkpoint.Omission
	if isOpen {
		omissions = []checkpoint.Omission{
			{What: "transcripts", Existed: len(shot.transcripts) > 0, Why: checkpoint.NoKey}, {What: "workspace", Existed: packed.HasWork, Why: checkpoint.NoKey},
		}
		for _, lost := range (&checkpoint.Manifest{Omissions: omissions}).Missing() {
			notes = append(notes, "The checkpoint lacks the "+lost+", because anyone can read the artifacts of a public repository.")
		}
	} else {
		parts = slices.Concat(parts, shot.transcripts, packed.parts)
		if packed.lost != "" {
			omissions = []checkpoint.Omission{{What: "workspace", Existed: true, Why: packed.lost}}
		}
	}
	return w.contents(shot, omissions, !isOpen, parts, packed.RequiredNames), notes, nil
}

// contents returns the contents of the next checkpoint of the chain: the snapshot's state and more
// parts. names are words that must not be masked.
func (w *writer) contents(shot *snapshot, omissions []checkpoint.Omission, hasConversations bool, more []checkpoint.Entry, names []string) checkpoint.WriteRequest {
	m, c := shot.manifest, &w.chain
	m.Generation, m.Previous, m.Base, m.Omissions = c.Generation+1, c.Digest, c.Base, omissions
	if !hasConversations {
		m.Transcripts = nil
	}
	return checkpoint.WriteRequest{
		Manifest: m, Entries: append(more, checkpoint.Entry{Name: "state.json", Data: shot.state}), Keys: w.c.Keys,
		Mask: w.c.Log.Mask().Except(slices.Concat(shot.dirs, names)).MaskReader,
	}
}

// writeState writes a checkpoint with only the state, in memory because the disk may be full. why
// is the reason why the rest could not be packed.
func (w *writer) writeState(shot *snapshot, packed work, why error) (built, error) {
	var omissions []checkpoint.Omission
	if len(shot.transcripts) > 0 {
		omissions = append(omissions, checkpoint.Omission{What: "transcripts", Existed: true, Why: causeOf(why)})
	}
	if packed.HasWork {
		omissions = append(omissions, checkpoint.Omission{What: "workspace", Existed: true, Why: causeOf(why)})
	}
	var to bytes.Buffer
	written, err := checkpoint.Write(&to, w.contents(shot, omissions, false, nil, nil))
	if err != nil {
		return built{}, errors.Join(why, err)
	}
	return built{
		WriteResult: written, archive: bytes.NewReader(to.Bytes()), remove: func() {},
		notes: []string{"The checkpoint contains only the state, because the rest could not be packed: " + why.Error() + "."},
	}, nil
}

// omissions returns the contents of the run that are missing in the last checkpoint.
func (w *writer) omissions() []checkpoint.Omission {
	return slices.DeleteFunc(slices.Clone(w.last.Manifest.Omissions), func(l checkpoint.Omission) bool { return !l.Existed })
}

// origin returns the fields of a manifest that all checkpoints of this job share.
func (c *Config) origin(k Key, about job.Subject, isUntrusted bool) checkpoint.Manifest {
	e := c.Event
	return checkpoint.Manifest{
		RepositoryID: e.Repository.ID, Repository: e.Repository.Name, Workflow: e.Workflow, Key: k.Name, Part: k.Part,
		RunID: e.RunID, RunAttempt: e.Attempt, Job: e.Job, Runner: e.Runner, Event: e.Name, Kind: about.Kind, Number: about.Number, Title: about.Title, Head: about.Head,
		Untrusted: isUntrusted, Dirs: c.Machine, Program: c.Version, Ended: c.Ended,
	}
}

// manifest adds to the fields of a job those of a run. A writer adds the fields about contents and
// about earlier checkpoints.
func manifest(origin checkpoint.Manifest, start RunStart, run *state.Run) checkpoint.Manifest {
	m, p := origin, &run.Progress
	m.KeyOrigin, m.Checkout, m.Input, m.Supersedes = start.KeyOrigin, start.Checkout, start.Input, start.Supersedes
	m.WorkflowID, m.Status, m.Reason, m.Seq = run.WorkflowID, p.Status, p.Reason, p.Seq
	m.TotalUSD, m.Estimated, m.Iterations = p.TotalUSD, run.Spent().Estimated, run.OwnExecutions()
	return m
}
