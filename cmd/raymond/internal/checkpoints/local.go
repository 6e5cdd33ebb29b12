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

// localFile, in the own folder of a run that stays on this machine, names the folder beside it that
// has the run's work. It is replaced once that folder is complete.
const localFile = "work.json"

// LocalWork is the work of a run that stays on this machine.
type LocalWork struct {
	Folder  string                `json:"folder,omitempty"` // in the run's own, as workspace.Git.Save makes it; "" for none
	Seq     int                   `json:"seq"`              // the step of the run after which it was kept
	LeftOut []checkpoint.Omission `json:"left_out,omitempty"`
}

// ReadLocal returns what Local.Keep has kept in a run's own folder; the zero value for nothing that can be read.
func ReadLocal(dir string) LocalWork {
	var w LocalWork
	if ReadNote(filepath.Join(dir, localFile), &w) != nil {
		return LocalWork{}
	}
	return w
}

// Local is where the work of a run is kept.
type Local struct {
	Git  *workspace.Git
	Base string // the commit that the job was checked out at; "" when unknown
	Dir  string // the run's own folder
	// Last is as in Snapshot.
	Last bool
}

// Keep keeps the work of a run in place of what was kept before, which stays until that is done. What a
// checkpoint would leave out is left out. It returns what that is, as sentences for people.
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
	for _, e := range entries { // also one that a process was killed in
		if strings.HasPrefix(e.Name(), "workspace-") && e.Name() != kept.Folder {
			err = errors.Join(err, os.RemoveAll(filepath.Join(l.Dir, e.Name())))
		}
	}
	return w.Notes, err
}
