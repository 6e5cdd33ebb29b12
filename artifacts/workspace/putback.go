package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// PutBack makes a worktree that is there what a snapshot of it was: files, index, branch and
// HEAD. Like Restore it fails with a *Conflict, before anything is overwritten, when changes or
// commits that are nowhere else are in the way. It returns notes for people.
func (s *Snapshots) PutBack(ctx context.Context, one Snapshot) (notes []string, err error) {
	t, err := s.open()
	if err != nil || t == nil {
		return nil, cmp.Or(err, ErrNoSnapshot)
	}
	defer t.git.close()
	here, err := t.git.place(ctx, one.Dir)
	if err != nil {
		return nil, err
	}
	if here == nil || !sameDir(here.top, one.Dir) || here.common != one.Common {
		return nil, fmt.Errorf("%s: %w", one.Dir, ErrNoWorktree)
	}
	if here.home.format != one.Format {
		return nil, &Conflict{Dir: one.Dir, What: "its object ids are " + here.home.format + ", and those of the snapshot " + one.Format}
	}
	if err := t.lend(ctx, &one); err != nil {
		return nil, fmt.Errorf("copy the snapshot of %s: %w", one.Dir, err)
	}
	saved := &repository{Format: one.Format, Save: one.commit, Trees: []Tree{{
		Dir: one.Dir, Main: !here.linked(), Branch: one.Branch, Head: one.Head, Operation: one.Operation,
	}}}
	if one.Branch != "" && one.Head != "" {
		saved.Branches = []branch{{one.Branch, one.Head}}
	}
	p := &plan{saved: saved, dir: one.Dir, common: here.common}
	if p.at, err = t.git.refs(ctx, &source{place: *here}); err != nil {
		return nil, err
	}
	w := &restorer{git: t.git, limit: defaultLimit, Restoring: Restoring{Dir: func(dir string) string { return dir }}}
	if err := errors.Join(w.planBranches(ctx, p), ctx.Err()); err != nil {
		return nil, err
	}
	if err := w.planTrees(ctx, p); err != nil {
		return nil, err
	}
	err = w.apply(ctx, p)
	return w.notes, err
}
