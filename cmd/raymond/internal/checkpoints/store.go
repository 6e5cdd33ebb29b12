package checkpoints

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/state"
)

// Options are what a Store needs.
type Options struct {
	Service slots.Service
	Query   slots.Query // says where the checkpoints of the run are; its Key is the run's
	Keys    *checkpoint.Keys
	Mask    *secrets.Set // of what must not be in what anybody may read
	// IsOpen reports whether anybody may read what is stored, and nothing is encrypted.
	// It is asked as often as that has to be known.
	IsOpen func() bool
	Git    *workspace.Git // nil: work in the workspace is not stored
	// Snapshots are those of the files of the run; nil: none are stored.
	Snapshots *workspace.Snapshots
	Base      string // the commit that the job was checked out at; "" when unknown
	Dir       string // of the run's own files: the chain is noted there
	Temp      string // folder for checkpoints in the making
	// Origin is what all checkpoints of this job say of it.
	Origin checkpoint.Manifest
	// Chain is how far the checkpoints have come; of a run without any, how it began.
	Chain Chain
	// Retention is how long the service is to keep a checkpoint; 0 leaves that to the
	// service.
	Retention time.Duration
	Seals     *Seals       // of the file with the chain; nil for none
	Warn      func(string) // is told at once what the last checkpoint lacks
}

// Store makes checkpoints of a run and stores them as artifacts. Before the first
// Save one of Continue, Begin and Ask says what is stored already; for the post part of a
// step its chain does. One
// goroutine at a time may use a Store; IsOpen and HasWork may be called at any time.
// Once there is a saver, only that may use the Store until its Final or Stop returns.
type Store struct {
	o        Options
	slots    *slots.Slots
	chain    Chain
	packer   packer
	isUnseen bool                        // nobody has looked what is stored already
	check    func(context.Context) error // whether the key is still the run's
	last     made                        // the last checkpoint that was written, stored or not
}

// New returns a store that has stored nothing itself.
func New(o Options) *Store {
	s := &Store{
		o: o, chain: o.Chain,
		packer: packer{git: o.Git, shots: o.Snapshots, base: o.Base, temp: o.Temp},
		check:  func(context.Context) error { return nil },
		slots:  &slots.Slots{Service: o.Service, Place: slots.Place{Key: o.Query.Key, Part: o.Query.Part.Name}, Retention: o.Retention},
	}
	s.slots.Count(o.Chain.Stored)
	s.slots.Adopt(o.Chain.Existing)
	return s
}

// Continue is for a run that is resumed from the checkpoint found: the next one
// follows it, and the artifacts of the key may be replaced. It writes the chain.
func (s *Store) Continue(found *slots.Found, began Began) error {
	m := found.Manifest
	s.chain = Chain{
		Began: began, Generation: m.Generation, Digest: found.Digest, Seq: m.Seq, Status: m.Status, Name: found.Artifact.Name,
		Base: &checkpoint.Base{ArtifactID: found.Artifact.ID, Digest: found.Digest, RunID: m.RunID},
	}
	return s.Begin(found.Existing)
}

// Begin is for a new run: the existing artifacts of the key, oldest first, may be
// replaced. It writes the chain.
func (s *Store) Begin(existing []artifacts.Artifact) error {
	s.slots.Adopt(existing)
	return s.writeChain()
}

// Ask is for a new run for which nobody has looked at the existing artifacts of the
// key: the first Save does. They may be replaced. It writes the chain.
func (s *Store) Ask() error {
	s.isUnseen = true
	return s.writeChain()
}

// SetCheck has check called before each Save, which an error of it ends. It is to
// tell whether the key is still the run's.
func (s *Store) SetCheck(check func(context.Context) error) { s.check = check }

// Save stores a snapshot as the next checkpoint and writes the chain. Its errors are
// those of SetCheck's function, of making the checkpoint and of slots.Store.
func (s *Store) Save(ctx context.Context, shot *Snapshot) (stored state.Checkpoint, err error) {
	if err := s.check(ctx); err != nil {
		return stored, err
	}
	if s.isUnseen {
		list, err := (&slots.Finder{Service: s.o.Service}).Existing(ctx, s.o.Query)
		if err != nil {
			return stored, err
		}
		s.slots.Adopt(list)
		s.isUnseen = false
	}
	if shot.Last {
		defer func() { _ = s.packer.discard() }() // a folder that stays is cleared by Clear
	}
	m, err := s.write(ctx, shot)
	if err != nil {
		return stored, err
	}
	defer m.remove()
	// Another process may have to know it when it has arrived. On a full disk the end is stored all the same.
	if err := s.writeChain(artifacts.Artifact{Digest: m.SHA256}); err != nil && !shot.Last {
		return stored, err
	}
	a, err := s.slots.Store(ctx, m.Manifest.Generation, artifacts.NewArtifact{Content: m.archive, Size: m.Size, Digest: m.SHA256})
	if err != nil {
		return stored, err
	}
	c, last := &s.chain, m.Manifest
	c.Generation, c.Digest, c.Seq, c.Status, c.Name, c.Sessions = last.Generation, m.Digest, last.Seq, last.Status, a.Name, m.sessions
	if err := s.writeChain(); err != nil && !shot.Last {
		return stored, err
	}
	return state.Checkpoint{Store: a.Name, SeqStored: last.Seq, Bytes: m.Size}, nil
}

// write makes a checkpoint. Of the last snapshot the state alone is worth storing, where the
// rest can't be packed.
func (s *Store) write(ctx context.Context, shot *Snapshot) (made, error) {
	s.last.notes = nil
	w, err := s.packer.pack(ctx, shot)
	if err != nil {
		return made{}, err
	}
	m, err := s.writeFile(shot, w)
	isLost := !slices.Contains([]string{"", checkpoint.TooLarge, checkpoint.NoGit}, w.lost)
	if err != nil && shot.Last && ctx.Err() == nil && !errors.Is(err, checkpoint.ErrTooLarge) {
		m, err = s.writeState(shot, w, err)
		isLost = true
	}
	if err != nil {
		s.last.notes = m.notes
		return made{}, err
	}
	if isLost {
		for _, note := range m.notes {
			s.o.Warn(note)
		}
	}
	if shot.Last {
		isLost := slices.ContainsFunc(m.Manifest.Omissions, func(l checkpoint.Omission) bool { return l.What == "transcripts" && l.Why != checkpoint.NoKey })
		m.sessions = leftBehind(shot.transcripts, !isLost)
	}
	s.last = m
	return m, nil
}

// writeChain keeps the chain for ReadChain, with what is about to be stored.
func (s *Store) writeChain(sent ...artifacts.Artifact) error {
	s.chain.Stored, s.chain.Existing = s.slots.Stored(), append(s.slots.Own(), sent...)
	return s.o.Seals.Note(filepath.Join(s.o.Dir, ChainFile), s.chain)
}

// Chain returns how far the checkpoints have come.
func (s *Store) Chain() Chain { return s.chain }

// LeftOut returns what there was of the run that the last checkpoint lacks.
func (s *Store) LeftOut() []checkpoint.Omission {
	return slices.DeleteFunc(slices.Clone(s.last.Manifest.Omissions), func(l checkpoint.Omission) bool { return !l.Existed })
}

// Notes returns what the last checkpoint lacks, and why, as sentences for people. It
// has them also for a checkpoint that could not be made.
func (s *Store) Notes() []string { return s.last.notes }

// IsOpen reports whether anybody may read what is stored.
func (s *Store) IsOpen() bool { return s.o.IsOpen() }

// HasWork reports whether there is work in directories that is in no commit of the
// remote, and that would have to be stored. What can't be looked at counts.
func (s *Store) HasWork(ctx context.Context, dirs []string) bool {
	if s.o.Git == nil {
		return false
	}
	to, err := os.MkdirTemp(s.o.Temp, "work-")
	if err != nil {
		return true
	}
	defer os.RemoveAll(to)
	saved, err := s.o.Git.Save(ctx, workspace.SaveRequest{Dirs: dirs, Base: s.o.Base, To: to})
	return err != nil && !errors.Is(err, workspace.ErrNoGit) || saved.HasWork
}
