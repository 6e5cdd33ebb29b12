package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	h, err := t.git.home(ctx, one.Common)
	if err != nil {
		return nil, err
	}
	if h.format != one.Format {
		return nil, fmt.Errorf("%s: the object ids of the repository are %s now", one.Dir, h.format)
	}
	if err := t.lend(ctx, &one); err != nil {
		return nil, fmt.Errorf("copy the snapshot of %s: %w", one.Dir, err)
	}
	return t.checkout(ctx, &one, dir)
}

// checkout makes the worktree. The repository has all objects by now.
func (t *shotTool) checkout(ctx context.Context, one *Snapshot, dir string) ([]string, error) {
	saved := Tree{Dir: one.Dir, Head: one.Head, Operation: one.Operation}
	p := &plan{saved: &repository{Format: one.Format, Save: one.commit, Trees: []Tree{saved}}, dir: one.Common, common: one.Common}
	w := &restorer{git: t.git, limit: defaultLimit}
	listings, err := w.list(ctx, p)
	if err != nil {
		return nil, err
	}
	tp := &treePlan{saved: saved, dir: dir, format: one.Format, want: listings[0], isNew: true}
	if err := errors.Join(w.compare(ctx, tp), w.weighFiles(ctx, p, tp)); err != nil {
		return nil, err
	}
	if err := w.applyTree(ctx, p, tp); err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	if one.Head != "" {
		err = w.setHead(ctx, tp)
	} else {
		err = t.git.run(ctx, call{dir: dir}, "symbolic-ref", "HEAD", "refs/heads/"+plainName(filepath.Base(dir)))
	}
	if one.Operation != "" {
		w.note("%s: git %s was in progress; its commits and files are there, but not git's record of it", dir, one.Operation)
	}
	return w.notes, err
}

// lend copies the objects of a snapshot that a repository lacks to it.
func (t *shotTool) lend(ctx context.Context, one *Snapshot) error {
	into := call{dir: one.Common, bare: one.Common}
	want := one.commit + "\n"
	if one.Head != "" {
		missing, err := t.git.missing(ctx, into, []string{one.Head})
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			want += "^" + one.Head + "\n"
		}
	}
	c := t.call()
	c.in = text(want)
	return t.git.piped(ctx, c, func(r io.Reader) error {
		into.in = copyOf(r)
		return t.git.run(ctx, into, "index-pack", "--stdin", "--fix-thin", fsck)
	}, "pack-objects", "--quiet", "--stdout", "--revs", "--thin")
}
