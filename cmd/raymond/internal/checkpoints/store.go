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

// Options configure a Store.
type Options struct {
	Service slots.Service
	Query   slots.Query // where the run's checkpoints are stored; its Key is the run's
	Keys    *checkpoint.Keys
	Mask    *secrets.Set // values that must not appear where anyone can read them
	// IsOpen reports whether anyone can read the artifacts, because they are public and not
	// encrypted. It may be called often.
	IsOpen func() bool
	Git    *workspace.Git // nil: work in the workspace is not stored
	// Snapshots are the workspace snapshots of the run; nil: they are not stored.
	Snapshots *workspace.Snapshots
	Base      string // the commit that the job checked out; "" if unknown
	Dir       string // the run's directory, with the file of the chain
	Temp      string // directory for checkpoints that are being written
	// Origin has the manifest fields that all checkpoints of this job share.
	Origin checkpoint.Manifest
	// Chain is the state of the run's checkpoints. For a run without checkpoints, it describes the
	// beginning of the run.
	Chain Chain
	// Retention is how long the service keeps a checkpoint; 0 for the default of the service.
	Retention time.Duration
	Seals     *Seals       // integrity log for the file of the chain; nil for none
	Warn      func(string) // is called with notes about missing contents
}

// Store makes checkpoints of a run and stores them as artifacts. Before the first Save, Continue,
// Begin or Ask must be called, which tell the Store about existing artifacts; in the post phase of
// a step, the chain contains them. Only one goroutine at a time may use a Store, but IsOpen and
// HasWork may be called at any time. Once there is a Saver, only the Saver may use the Store until
// its Final or Stop returns.
type Store struct {
	o        Options
	slots    *slots.Slots
	chain    Chain
	packer   packer
	isUnseen bool                        // the existing artifacts have not been listed yet
	check    func(context.Context) error // reports an error if the run no longer has the key
	last     made                        // the last checkpoint that was written, stored or not
}

// New returns a store.
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

// Continue prepares a store for a run that is resumed from a checkpoint: the next checkpoint
// follows it, and existing artifacts of the key may be replaced. It saves the chain.
func (s *Store) Continue(found *slots.Found, began Began) error {
	m := found.Manifest
	s.chain = Chain{
		Began: began, Generation: m.Generation, Digest: found.Digest, Seq: m.Seq, Status: m.Status, Name: found.Artifact.Name,
		Base: &checkpoint.Base{ArtifactID: found.Artifact.ID, Digest: found.Digest, RunID: m.RunID},
	}
	return s.Begin(found.Existing)
}

// Begin prepares a store for a new run. The existing artifacts of the key, oldest first, may be
// replaced. It saves the chain.
func (s *Store) Begin(existing []artifacts.Artifact) error {
	s.slots.Adopt(existing)
	return s.writeChain()
}

// Ask prepares a store for a new run when the existing artifacts of the key have not been listed:
// the first Save lists them. They may be replaced. It saves the chain.
func (s *Store) Ask() error {
	s.isUnseen = true
	return s.writeChain()
}

// SetCheck sets a function that each Save calls first. An error of it ends the Save. The function
// checks that the run still has its key.
func (s *Store) SetCheck(check func(context.Context) error) { s.check = check }

// Save stores a snapshot as the next checkpoint and saves the chain. Its errors come from
// SetCheck's function, from making the checkpoint, or from slots.Store.
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
		defer func() { _ = s.packer.discard() }() // if this fails, Clear removes the directory later
	}
	m, err := s.write(ctx, shot)
	if err != nil {
		return stored, err
	}
	defer m.remove()
	// The post phase must recognize the artifact if this process dies during the upload. The last
	// snapshot is stored even if the chain can't be saved, as on a full disk.
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

// write makes a checkpoint. If the last snapshot can't be packed completely, it stores only the
// state.
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

// writeChain saves the chain for ReadChain, with artifacts that are about to be uploaded.
func (s *Store) writeChain(sent ...artifacts.Artifact) error {
	s.chain.Stored, s.chain.Existing = s.slots.Stored(), append(s.slots.Own(), sent...)
	return s.o.Seals.Note(filepath.Join(s.o.Dir, ChainFile), s.chain)
}

// Chain returns the present state of the checkpoints.
func (s *Store) Chain() Chain { return s.chain }

// LeftOut returns the contents of the run that are missing in the last checkpoint.
func (s *Store) LeftOut() []checkpoint.Omission {
	return slices.DeleteFunc(slices.Clone(s.last.Manifest.Omissions), func(l checkpoint.Omission) bool { return !l.Existed })
}

// Notes returns sentences for users about contents that the last checkpoint lacks, and the reasons.
// It also has them if that checkpoint could not be made.
func (s *Store) Notes() []string { return s.last.notes }

// IsOpen reports whether anyone can read the stored checkpoints.
func (s *Store) IsOpen() bool { return s.o.IsOpen() }

// HasWork reports whether the directories contain work that is in no commit of the remote and would
// have to be stored. It returns true if this can't be determined.
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
