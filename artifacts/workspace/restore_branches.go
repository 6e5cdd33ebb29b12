package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// RestoreAsBranches restores the work of a save as new branches. branches maps the name of each branch to a
// directory on this machine. The branch gets a commit with the tracked and untracked files of the saved
// worktree that contains the directory. The commit's parent is the HEAD of that worktree. Worktrees and
// other branches stay unchanged. RestoreAsBranches returns notes for users about work that it couldn't
// restore. It returns the same errors as Restore, but a missing repository is only noted.
func (g *Git) RestoreAsBranches(ctx context.Context, r RestoreRequest, branches map[string]string) (notes []string, err error) {
	w, all, err := g.openSave(r, "bring")
	if w == nil {
		return nil, err
	}
	defer w.git.close()
	for i := range all {
		if err := w.restoreBranches(ctx, &all[i], branches); err != nil {
			return w.notes, err
		}
	}
	return w.notes, nil
}

// restoreBranches creates the branches with the work of one repository.
func (w *restorer) restoreBranches(ctx context.Context, r *repository, branches map[string]string) error {
	var p *plan
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		tree := -1
		for i, t := range r.Trees {
			top := w.Dir(t.Dir)
			if cage.IsWithin(branches[name], top) && (tree < 0 || len(top) > len(w.Dir(r.Trees[tree].Dir))) {
				tree = i
			}
		}
		if tree < 0 || !isBranch(name) {
			continue
		}
		if p == nil {
			if _, err := w.checkBundle(r); err != nil {
				return err
			}
			var err error
			p, err = w.locate(ctx, r)
			if errors.As(err, new(*Conflict)) {
				w.note("the work in %s is not restored: the repository does not exist here", w.Dir(r.Trees[0].Dir))
				return nil
			}
			if err != nil {
				return err
			}
			if err := w.receive(ctx, p); err != nil {
				return err
			}
		}
		if err := w.createBranch(ctx, p, name, tree); err != nil {
			return err
		}
	}
	return nil
}

// createBranch creates one branch or replaces a branch of the same name. If git fails to set the branch, it
// adds a note.
func (w *restorer) createBranch(ctx context.Context, p *plan, name string, tree int) error {
	c := call{dir: p.common, bare: p.common}
	head := p.saved.Trees[tree].Head
	files, err := w.git.id(ctx, c, fmt.Sprintf("%s:%d/work", p.saved.Save, tree))
	if err != nil {
		return nil //nolint:nilerr // a worktree without files has nothing to restore
	}
	commit := head
	if top, err := w.git.id(ctx, c, head+"^{tree}"); head == "" || err != nil || top != files {
		if commit, err = w.git.commitTree(ctx, c, files, "Work of "+name, head); err != nil {
			return err
		}
	}
	err = w.git.updateRefs(ctx, call{dir: p.dir}, "join", []refUpdate{{"refs/heads/" + name, "", commit}})
	if err != nil {
		w.note("could not create the branch %s: %s", name, err)
	}
	return ctx.Err()
}
