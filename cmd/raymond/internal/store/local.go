package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// local keeps runs in a state directory of this machine. The lock of a run's state file takes the
// place of a claim.
type local struct{ Config }

// manifestFile is the name of the file, in a run's directory, that corresponds to the manifest of a
// checkpoint: it contains the run's key, how the run began, and what later segments need to know.
const manifestFile = "key.json"

// Look implements Store.
func (s *local) Look(_ context.Context, q Query) (*Lookup, error) {
	l := &Lookup{Found: slots.Found{RunStatus: "completed"}, OnMachine: true, stateDir: s.StateDir, here: s.Machine} // a process that drives a run holds its lock
	if q.Mode == slots.Never {
		return l, nil
	}
	ids, err := journal.List(s.StateDir)
	if err != nil {
		return l, err
	}
	isNamed := q.Mode != slots.Auto && q.Mode != slots.Require
	for _, id := range ids {
		var m checkpoint.Manifest
		if files.ReadJSON(filepath.Join(s.StateDir, id, manifestFile), &m) != nil {
			m = checkpoint.Manifest{}
		}
		// Different keys can have the same id, because ids replace some characters and are cut.
		isOfKey := len(id) >= 8 && id == job.WorkflowID(q.Key, id[len(id)-8:]) && (m.Key == "" || m.Key == q.Key)
		if isNamed && id != q.Mode || !isNamed && !isOfKey {
			continue
		}
		run, err := journal.Read(s.StateDir, id)
		if err != nil {
			return l, err
		}
		if l.Run == nil || run.Created.After(l.Run.Created) {
			l.Run, l.Manifest = run, &m
		}
	}
	if l.Run != nil {
		l.Dir = filepath.Join(s.StateDir, l.Run.WorkflowID)
		m := manifest(*l.Manifest, RunStart{l.Manifest.KeyOrigin, l.Manifest.Checkout, l.Manifest.Input, l.Manifest.Supersedes}, l.Run)
		m.Omissions, l.Manifest = readSavedWork(l.Dir).LeftOut, &m
	}
	return l, nil
}

// Parts implements Store. Jobs of a matrix don't share a machine.
func (s *local) Parts(context.Context, *Lookup, []state.Part) ([]*Part, error) { return nil, nil }

// Limitations implements Store.
func (s *local) Limitations(hasPrompts bool) []string {
	if hasPrompts && s.Worktree.Lacks() {
		return []string{losesFiles}
	}
	return nil
}

// View implements Store.
func (s *local) View() Lease { return &localLease{c: &s.Config, isView: true} }

// Claim implements Store.
func (s *local) Claim(k Key) (Lease, error) { return &localLease{c: &s.Config, key: k}, nil }

// Reopen implements Store.
func (s *local) Reopen(n Note) (Lease, error) {
	return &localLease{c: &s.Config, key: n.Key, dir: filepath.Join(s.StateDir, n.WorkflowID), id: n.WorkflowID, isRestored: n.IsRestored}, nil
}

// localLease is the right to drive a run of this machine, as soon as Restore has locked its state.
type localLease struct {
	noClaim
	c          *Config
	key        Key
	id, dir    string // the run that Reopen names, and the run's directory
	isRestored bool   // the work was restored
	isView     bool   // work and manifest stay unchanged
}

// Expedite implements Lease. Each step is saved on this machine.
func (l *localLease) Expedite(Urgency) {}

// Offer implements runner.Checkpoints.
func (l *localLease) Offer(*state.Run, time.Time) bool { return true }

// Stored implements runner.Checkpoints.
func (l *localLease) Stored() <-chan *state.Checkpoint { return nil }

// CheckResumable implements runner.Checkpoints.
func (l *localLease) CheckResumable([]*state.Agent) error { return nil }

// RemoveConversations implements Lease. The run continues on this machine.
func (l *localLease) RemoveConversations([]Conversation) []string { return nil }

// Receipt implements Lease.
func (l *localLease) Receipt() Receipt {
	return Receipt{Place: OnMachine, IsWhole: true, Omissions: readSavedWork(l.dir).LeftOut}
}

// ErrDriven is the error of a reopened lease whose run another process drives by now.
var ErrDriven = errors.New("another process drives the run")

// Restore implements Lease.
func (l *localLease) Restore(ctx context.Context, found *Lookup, to Target) (file *journal.File, run *state.Run, err error) {
	if l.id != "" {
		file, run, err = l.c.openLeft(l.id)
		if _, isLocked := errors.AsType[*journal.LockedError](err); isLocked {
			err = ErrDriven
		}
		return file, run, err
	}
	id := to.ID
	if id == "" {
		id = found.Run.WorkflowID
	}
	l.dir = filepath.Join(l.c.StateDir, id)
	if run = found.Run; run != nil {
		err = found.Relocate()
		for _, dir := range []string{"", session.CLIDir(found.Dir)} { // its agents may have run with or without a cage
			err = errors.Join(err, session.CopyConversations(to.AgentsIn(dir), to.Agents, cmp.Or(to.Needs, run)))
		}
		if err != nil {
			return nil, nil, problem.OfMachine("conversations", err)
		}
	}
	if to.ID != "" {
		file, err = journal.Create(l.c.StateDir, id, session.Holder())
	} else {
		file, run, err = l.c.openLeft(id)
	}
	if err != nil {
		return nil, nil, err
	}
	file.SetIntegrityLog(l.c.Integrity)
	if l.isView {
		return file, run, nil
	}
	// The state is locked now, so no other process changes the work.
	if run != nil && to.Contents != Conversations {
		err = l.restoreWork(ctx, found, run, to)
	}
	if err == nil {
		m := checkpoint.Manifest{Key: l.key.Name, Kind: to.About.Kind, Number: to.About.Number, Title: to.About.Title, Head: to.About.Head, Untrusted: to.Untrusted}
		err = files.WriteJSON(filepath.Join(l.dir, manifestFile), manifest(m, to.Start, &state.Run{WorkflowID: id}))
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	l.isRestored = true
	return file, run, nil
}

// restoreWork restores the saved work of a run.
func (l *localLease) restoreWork(ctx context.Context, found *Lookup, run *state.Run, to Target) error {
	saved := readSavedWork(found.Dir)
	if l.c.Worktree == nil || len(saved.LeftOut) > 0 {
		return nil // the losses were reported when the work was saved
	}
	if now := run.Progress.Seq; saved.Seq != now {
		l.c.Log.Say(fmt.Sprintf("run %s is at step %d, and its work was last stored at step %d: changes in between are lost unless they are in the checkout",
			run.WorkflowID, now, saved.Seq))
	}
	if saved.Folder == "" {
		return nil
	}
	found.work = found.workDir()
	if err := l.c.Worktree.restore(ctx, l.c.Log, to, found.work, nil); err != nil {
		return err
	}
	return MakeDirs(run)
}

// StoreEnd implements Lease. It saves the work of the run beside its state. The post phase does this
// if the main phase had no time, unless another job has driven the run in between. If the work was
// never restored, the saved work stays unchanged.
func (l *localLease) StoreEnd(ctx context.Context, run *state.Run, isLast bool) (Receipt, error) {
	isSaved := l.id != "" && readSavedWork(l.dir).Seq == run.Progress.Seq
	if ctx.Err() != nil || l.c.Worktree == nil || !l.isRestored || isSaved {
		return l.Receipt(), nil
	}
	notes, err := saveWork(ctx, l.c.Worktree, l.dir, run, isLast)
	l.c.Log.ReportLosses(notes)
	return l.Receipt(), err
}

// savedWorkFile is a file in the directory of a local run with the name of the directory beside it
// that contains the run's work. It is replaced after that directory is complete.
const savedWorkFile = "work.json"

// savedWork describes the saved work of a run that stays on this machine.
type savedWork struct {
	Folder  string                `json:"folder,omitempty"` // in the run's directory, as workspace.Git.Save writes it; "" for none
	Seq     int                   `json:"seq"`              // the step of the run after which it was saved
	LeftOut []checkpoint.Omission `json:"left_out,omitempty"`
}

// readSavedWork returns what saveWork has saved in a run's directory, or the zero value if it can't
// be read.
func readSavedWork(dir string) savedWork {
	var w savedWork
	if files.ReadJSON(filepath.Join(dir, savedWorkFile), &w) != nil {
		return savedWork{}
	}
	return w
}

// saveWork saves the work of a run in its directory and replaces the work saved before, which stays
// until the new work is complete. It leaves out the same contents as a checkpoint, and returns notes
// for users about them.
func saveWork(ctx context.Context, tree *Worktree, dir string, run *state.Run, isLast bool) (notes []string, err error) {
	p := packer{tree: tree, base: tree.Base(ctx), temp: dir}
	packed, err := p.pack(ctx, &snapshot{isLast: isLast, dirs: run.Dirs(), hasPrompted: run.HasPrompted()})
	if err != nil {
		return nil, err
	}
	saved := savedWork{Seq: run.Progress.Seq}
	if p.last != "" {
		saved.Folder = filepath.Base(p.last)
	}
	if packed.lost != "" {
		saved.LeftOut = []checkpoint.Omission{{What: "workspace", Existed: true, Why: packed.lost}}
	}
	if err := files.WriteJSON(filepath.Join(dir, savedWorkFile), saved); err != nil {
		return nil, errors.Join(err, p.discard())
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries { // includes a directory that a killed process has left
		if strings.HasPrefix(e.Name(), "workspace-") && e.Name() != saved.Folder {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return packed.Notes, err
}
