package workspace

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// Checkout makes a new worktree of the repository that a snapshot is of, with the index and
// the files of the snapshot. HEAD is at the commit where it was, on no branch. dir is
// absolute; if there is anything but an empty folder it fails with a *Conflict. It returns
// notes for people.
func (s *Snapshots) Checkout(ctx context.Context, one Snapshot, dir string) (notes []string, err error) {
	t, err := s.open()
	if err != nil || t == nil {
		return nil, cmp.Or(err, ErrNoSnapshot)
	}
	defer t.git.close()
	if err := vacant(dir); err != nil {
		return nil, err
	}
	if info, err := os.Stat(one.Common); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s: the repository of the snapshot is no longer there", one.Dir)
	}
	tree := Tree{Dir: one.Dir, Head: one.Head, Operation: one.Operation}
	if one.Head == "" {
		tree.Branch = "rerun" // which is as new as the only one there is
	}
	p := &plan{dir: one.Common, common: one.Common, at: &refs{}, saved: &repository{Save: one.commit, Trees: []Tree{tree}}}
	return t.put(ctx, &one, p, dir)
}

// Restore makes a worktree that is there what a snapshot of it was: files, index, branch and
// HEAD. Like Restore it fails with a *Conflict, before anything is overwritten, when changes or
// commits that are nowhere else are in the way. It returns notes for people.
func (s *Snapshots) Restore(ctx context.Context, one Snapshot) (notes []string, err error) {
	t, err := s.open()
	if err != nil || t == nil {
		return nil, cmp.Or(err, ErrNoSnapshot)
	}
	defer t.git.close()
	here, err := t.git.worktree(ctx, one.Dir)
	if err != nil {
		return nil, err
	}
	if !sameDir(here.top, one.Dir) || here.common != one.Common {
		return nil, fmt.Errorf("%s: %w", one.Dir, ErrNoWorktree)
	}
	tree := Tree{Dir: one.Dir, Main: !here.linked(), Branch: one.Branch, Head: one.Head, Operation: one.Operation}
	p := &plan{dir: one.Dir, common: here.common, saved: &repository{Save: one.commit, Trees: []Tree{tree}}}
	if one.Branch != "" && one.Head != "" {
		p.saved.Branches = []branch{{one.Branch, one.Head}}
	}
	if p.at, err = t.git.refs(ctx, here); err != nil {
		return nil, err
	}
	return t.put(ctx, &one, p, one.Dir)
}

// put restores a snapshot, as if it were a save.
func (t *shotTool) put(ctx context.Context, one *Snapshot, p *plan, dir string) (notes []string, err error) {
	if err := t.lend(ctx, one); err != nil {
		return nil, fmt.Errorf("copy the snapshot of %s: %w", one.Dir, err)
	}
	w := newRestorer(t.git, RestoreRequest{Dir: func(string) string { return dir }})
	if err := w.planBranches(ctx, p); err != nil {
		return nil, err
	}
	if err := w.planTrees(ctx, p); err != nil {
		return nil, err
	}
	err = w.apply(ctx, p)
	return w.notes, err
}

// lend copies the objects of a snapshot that a repository lacks to it.
func (t *shotTool) lend(ctx context.Context, one *Snapshot) error {
	want := one.commit + "\n"
	if one.Head != "" {
		missing, err := t.git.missing(ctx, call{dir: one.Common, bare: one.Common}, []string{one.Head})
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			want += "^" + one.Head + "\n"
		}
	}
	c := t.call()
	c.in = strings.NewReader(want)
	return t.git.piped(ctx, c, func(r io.Reader) error { return t.git.takePack(ctx, one.Common, r, "--fix-thin", fsck) },
		"pack-objects", "--quiet", "--stdout", "--revs", "--thin")
}
