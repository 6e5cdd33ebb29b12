package checkpoints

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/state"
)

// localFile is a file in the directory of a local run with the name of the directory beside it that
// contains the run's work. It is replaced after that directory is complete.
const localFile = "work.json"

// LocalWork describes the saved work of a run that stays on this machine.
type LocalWork struct {
	Folder  string                `json:"folder,omitempty"` // in the run's directory, as workspace.Git.Save writes it; "" for none
	Seq     int                   `json:"seq"`              // the step of the run after which it was saved
	LeftOut []checkpoint.Omission `json:"left_out,omitempty"`
}

// ReadLocal returns what Local.Keep has saved in a run's directory, or the zero value if it can't
// be read.
func ReadLocal(dir string) LocalWork {
	var w LocalWork
	if ReadNote(filepath.Join(dir, localFile), &w) != nil {
		return LocalWork{}
	}
	return w
}

// Local saves the work of a run on this machine.
type Local struct {
	Git  *workspace.Git
	Base string // the commit that the job checked out; "" if unknown
	Dir  string // the run's directory
	// Last has the meaning of Snapshot.Last.
	Last bool
}

// Keep saves the work of a run and replaces the work saved before, which stays until the new work
// is complete. It leaves out the same contents as a checkpoint, and returns notes for users about
// them.
func (l Local) Keep(ctx context.Context, run *state.Run) (notes []string, err error) {
	p := packer{git: l.Git, base: l.Base, temp: l.Dir}
	w, err := p.pack(ctx, &Snapshot{Last: l.Last, dirs: Dirs(run), hasPrompted: HasPrompted(run)})
	if err != nil {
		return nil, err
	}
	kept := LocalWork{Seq: run.Progress.Seq}
	if p.last != "" {
		kept.Folder = filepath.Base(p.last)
	}
	if w.lost != "" {
		kept.LeftOut = []checkpoint.Omission{{What: "workspace", Existed: true, Why: w.lost}}
	}
	if err := WriteNote(filepath.Join(l.Dir, localFile), kept); err != nil {
		return nil, errors.Join(err, p.discard())
	}
	entries, err := os.ReadDir(l.Dir)
	for _, e := range entries { // includes a directory that a killed process has left
		if strings.HasPrefix(e.Name(), "workspace-") && e.Name() != kept.Folder {
			err = errors.Join(err, os.RemoveAll(filepath.Join(l.Dir, e.Name())))
		}
	}
	return w.Notes, err
}
