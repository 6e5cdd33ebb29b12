package workspace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// apply carries out a plan. It writes files and indexes, then branches, tags and stash entries, and at last
// HEADs. If it is interrupted, every file and every index entry either equals the checkout's or is as
// planned. A repeated restore therefore finds no conflict.
func (w *restorer) apply(ctx context.Context, p *plan) error {
	for _, t := range p.trees {
		if t.isNew {
			if err := w.addWorktree(ctx, p, t); err != nil {
				return err
			}
		}
		if err := w.writeFiles(ctx, p, t); err != nil {
			return err
		}
		if err := w.setIndex(ctx, t); err != nil {
			return err
		}
		if err := w.noteFiltered(ctx, t); err != nil {
			return err
		}
	}
	if err := w.git.updateRefs(ctx, call{dir: p.dir}, "restore", p.moves); err != nil {
		return err
	}
	if err := w.restoreExtras(ctx, p); err != nil {
		return err
	}
	for _, t := range p.trees {
		c, want := call{dir: t.dir}, t.saved
		var err error
		switch {
		case want.Branch == t.was.Branch && (want.Branch != "" || want.Head == t.was.Head):
		case want.Branch != "":
			err = w.git.run(ctx, c, "symbolic-ref", "-m", "raymond: restore", "HEAD", "refs/heads/"+want.Branch)
		default: // HEAD was detached
			err = w.git.run(ctx, c, "update-ref", "--no-deref", "-m", "raymond: restore", "HEAD", want.Head)
		}
		if err != nil {
			return err
		}
		if t.saved.Operation != "" {
			w.note("%s: git %s was in progress; its commits and files are back, but not git's record of it", t.dir, t.saved.Operation)
		}
	}
	return nil
}

// noteFiltered adds a note about files that were written in git's stored form, although a filter would
// convert them. The agents did not change these files. They were written because this checkout's commit
// contains other versions of them.
func (w *restorer) noteFiltered(ctx context.Context, t *treePlan) error {
	var stored []string
	for _, path := range t.write {
		if want := t.want.work[path]; want == t.want.index[slot{path, 0}] && want.mode != modeLink {
			stored = append(stored, path)
		}
	}
	filters, err := w.git.filtered(ctx, t.dir, stored)
	if err == nil && len(filters) > 0 {
		w.note("%s: what has a git filter, as with git LFS, is as git stores it (files: %d, one is %q)",
			t.dir, len(filters), slices.Sorted(maps.Keys(filters))[0])
	}
	return err
}

// setIndex updates a worktree's index to the saved entries. It changes only entries that differ, so that
// git need not read all files again. Git filters are turned off, because the commands that write an
// index may read files and would run the filters.
func (w *restorer) setIndex(ctx context.Context, t *treePlan) error {
	off, err := w.git.filtersOff(ctx, t.dir)
	if err != nil {
		return err
	}
	c := call{dir: t.dir, settings: off}
	differ := map[string]bool{}
	for at, have := range t.now {
		if t.want.index[at] != have {
			differ[at.path] = true
		}
	}
	for at, want := range t.want.index {
		if t.now[at] != want {
			differ[at.path] = true
		}
	}
	// The paths to remove precede the entries to add, because a directory can replace a file.
	var in strings.Builder
	for path := range differ {
		in.WriteString(removalEntry(path))
	}
	for at, want := range t.want.index {
		if differ[at.path] {
			fmt.Fprintf(&in, "%s %s %d\t%s\x00", want.mode, want.id, at.stage, at.path)
		}
	}
	if in.Len() == 0 && len(t.write) == 0 {
		return nil
	}
	if in.Len() > 0 {
		c.in = strings.NewReader(in.String())
		if err := w.git.run(ctx, c, "update-index", "-z", "--index-info"); err != nil {
			return err
		}
	}
	c.in = nil
	err = w.git.run(ctx, c, "update-index", "-q", "--refresh")
	if exitedWith(err, 1) {
		return nil // some files differ from the index, as they did when they were saved
	}
	return err
}
