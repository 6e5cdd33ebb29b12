package workspace

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// Checkout creates a new worktree in the repository of a snapshot, with the snapshot's index and files.
// HEAD is detached at the snapshot's HEAD. dir is the absolute path of the worktree. If it exists and is
// not an empty directory, the error is a *Conflict. Checkout returns notes for users.
func (s *Snapshots) Checkout(ctx context.Context, one Snapshot, dir string) (notes []string, err error) {
	t, err := s.open()
	if err != nil || t == nil {
		return nil, cmp.Or(err, ErrNoSnapshot)
	}
	defer t.git.close()
	if err := checkVacant(dir); err != nil {
		return nil, err
	}
	if info, err := os.Stat(one.Common); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s: the repository of the snapshot no longer exists", one.Dir)
	}
	tree := Tree{Dir: one.Dir, Head: one.Head, Operation: one.Operation}
	if one.Head == "" {
		tree.Branch = "rerun" // before the first commit, HEAD needs a branch
	}
	p := &plan{dir: one.Common, common: one.Common, at: &refs{}, saved: &repository{Save: one.commit, Trees: []Tree{tree}}}
	return t.restore(ctx, &one, p, dir)
}

// Restore changes an existing worktree to the state of a snapshot: files, index, branch and HEAD. If
// changes or commits would be lost, it returns a *Conflict before it overwrites anything, like
// Git.Restore. It returns notes for users.
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
	tree := Tree{Dir: one.Dir, Main: !here.isLinked(), Branch: one.Branch, Head: one.Head, Operation: one.Operation}
	p := &plan{dir: one.Dir, common: here.common, saved: &repository{Save: one.commit, Trees: []Tree{tree}}}
	if one.Branch != "" && one.Head != "" {
		p.saved.Branches = []branch{{one.Branch, one.Head}}
	}
	if p.at, err = t.git.refs(ctx, here); err != nil {
		return nil, err
	}
	return t.restore(ctx, &one, p, one.Dir)
}

// restore restores a snapshot in the worktree at dir, in the same way as the work of a save.
func (t *snapshotTool) restore(ctx context.Context, one *Snapshot, p *plan, dir string) (notes []string, err error) {
	if err := t.copyObjects(ctx, one); err != nil {
		return nil, fmt.Errorf("copy the snapshot of %s: %w", one.Dir, err)
	}
	w := newRestorer(t.git, RestoreRequest{Dir: func(string) string { return dir }})
	if err := w.plan(ctx, p); err != nil {
		return nil, err
	}
	err = w.apply(ctx, p)
	return w.notes, err
}

// copyObjects copies the objects of a snapshot to the agents' repository, if that repository lacks them.
func (t *snapshotTool) copyObjects(ctx context.Context, one *Snapshot) error {
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
	return t.git.runPiped(ctx, c, func(r io.Reader) error { return t.git.indexPack(ctx, one.Common, r, "--fix-thin", fsck) },
		"pack-objects", "--quiet", "--stdout", "--revs", "--thin")
}
