package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// packer packs the work in the workspace. It keeps the files of the previous time, because the next
// time reuses them.
type packer struct {
	tree      *Worktree
	snapshots *workspace.Snapshots // of the run; nil: they are not stored
	base      string               // the commit that the job checked out
	temp      string               // directory for packed files
	last      string               // directory of the previous time; "" for none
}

// work is the packed work of a workspace.
type work struct {
	workspace.SaveResult // HasWork is also true if this is not known
	parts                []checkpoint.Entry
	lost                 string // why the work is not in parts, as in checkpoint.Omission; "" if it is
}

// pack packs the work of a snapshot. Work that is too large is left out, because the rest of the
// run is worth storing. From the last snapshot, it also leaves out work that can't be packed for
// another reason, for example because the disk is full or the time is over.
func (p *packer) pack(ctx context.Context, s *snapshot) (work, error) {
	if p.tree == nil {
		return work{}, nil
	}
	w, err := p.save(ctx, s.dirs)
	if err == nil && w.lost == "" && len(w.Files) == 0 && s.hasPrompted {
		w.Notes = append(w.Notes, s.dirs[0]+" is not in a git repository: files that agents changed there are not stored.")
	}
	if w.lost == checkpoint.NoGit && !s.hasPrompted {
		return work{}, err // without prompts, missing git is not a loss
	}
	if err == nil || ctx.Err() != nil || !s.isLast {
		return w, err
	}
	return without(causeOf(err), err), nil
}

// without returns the work of a checkpoint that lacks it. why is a reason as in
// checkpoint.Omission.
func without(why string, err error) work {
	notes := []string{"The checkpoint lacks the work in the workspace: " + err.Error() + "."}
	return work{SaveResult: workspace.SaveResult{HasWork: true, Notes: notes}, lost: why}
}

// causeOf returns why packing failed, as in checkpoint.Omission. Errors of git are recognized by
// their text.
func causeOf(err error) string {
	says := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(err.Error()), text) })
	}
	switch {
	case errors.Is(err, workspace.ErrNoObjects):
		return checkpoint.NoObjects
	case errors.Is(err, syscall.ENOSPC), says("no space left", "quota exceeded", "file too large"):
		return checkpoint.DiskFull
	case errors.Is(err, workspace.ErrSlow), errors.Is(err, context.DeadlineExceeded):
		return checkpoint.TooSlow
	case says("out of memory", "cannot allocate memory", "signal: killed"):
		return checkpoint.NoMemory
	case says("permission denied", "operation not permitted"):
		return checkpoint.NotAllowed
	}
	return checkpoint.NotPacked
}

// save packs the work in the given directories.
func (p *packer) save(ctx context.Context, dirs []string) (work, error) {
	to, err := os.MkdirTemp(p.temp, "workspace-")
	if err != nil {
		return work{}, err
	}
	saved, err := p.tree.Git.Save(ctx, workspace.SaveRequest{Dirs: dirs, Base: p.base, To: to, Last: p.last})
	switch {
	case errors.Is(err, workspace.ErrNoGit):
		return without(checkpoint.NoGit, workspace.ErrNoGit), os.RemoveAll(to)
	case errors.Is(err, workspace.ErrTooLarge):
		return without(checkpoint.TooLarge, err), os.RemoveAll(to)
	case err != nil:
		return work{}, errors.Join(fmt.Errorf("pack the workspace: %w", err), os.RemoveAll(to))
	}
	w := work{SaveResult: saved}
	if len(w.Files) > 0 && p.addSnapshots(ctx, to, &w) {
		w.Files = append(w.Files, workspace.BundleName)
	}
	if err := p.discard(); err != nil {
		return work{}, err
	}
	p.last = to
	for _, name := range w.Files {
		w.parts = append(w.parts, checkpoint.Entry{Name: "workspace/" + name, Path: filepath.Join(to, name), Size: -1})
	}
	return w, nil
}

// addSnapshots packs the workspace snapshots of the run beside its work, and reports whether there
// are any. If they can't be packed, it adds a note, and the rest is still stored.
func (p *packer) addSnapshots(ctx context.Context, to string, w *work) bool {
	if p.snapshots == nil {
		return false
	}
	c, err := p.snapshots.Pack(ctx, filepath.Join(to, workspace.BundleName), p.base)
	switch {
	case err != nil:
		w.Notes = append(w.Notes, "The checkpoint lacks the workspace snapshots, which could not be packed: "+err.Error()+".")
		return false
	case c.Dropped > 0:
		w.Notes = append(w.Notes, fmt.Sprintf("The checkpoint contains only the newest %d of %d workspace snapshots, because there is no room for more.", c.Count, c.Count+c.Dropped))
	}
	return c.Count > 0
}

// discard removes the files of the previous time.
func (p *packer) discard() error {
	err := os.RemoveAll(p.last) // does nothing for ""
	if err == nil {
		p.last = ""
	}
	return err
}
