package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// RestoreAsBranches adds the work of a save as branches, each with a commit that has the files of a
// worktree, tracked and untracked, on top of the commit that it was at: by the name of a branch, the directory
// here in whose worktree it was made. Neither worktrees
// nor other branches are touched. It returns notes for people on what could not be added;
// the errors are those of Restore.
func (g *Git) RestoreAsBranches(ctx context.Context, r RestoreRequest, branches map[string]string) (notes []string, err error) {
	w, all, err := g.begin(r, "bring")
	if w == nil {
		return nil, err
	}
	defer w.git.close()
	for i := range all {
		if err := w.bring(ctx, &all[i], branches); err != nil {
			return w.notes, err
		}
	}
	return w.notes, nil
}

// bring adds the work in one repository.
func (w *restorer) bring(ctx context.Context, r *repository, branches map[string]string) error {
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
			var err error
			if p, err = w.arrive(ctx, r); p == nil || err != nil {
				return err
			}
		}
		if err := w.branch(ctx, p, name, tree); err != nil {
			return err
		}
	}
	return nil
}

// arrive adds the objects of a save to its repository here; without that there is a note.
func (w *restorer) arrive(ctx context.Context, r *repository) (*plan, error) {
	if _, err := w.weigh(r); err != nil {
		return nil, err
	}
	p, err := w.locate(ctx, r)
	if errors.As(err, new(*Conflict)) {
		w.note("the work in %s is not brought back: there is no such repository here", w.Dir(r.Trees[0].Dir))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p, w.receive(ctx, p)
}

// branch makes one branch, in place of an older one of its name.
func (w *restorer) branch(ctx context.Context, p *plan, name string, tree int) error {
	c := call{dir: p.common, bare: p.common}
	head := p.saved.Trees[tree].Head
	files, err := w.git.id(ctx, c, fmt.Sprintf("%s:%d/work", p.saved.Save, tree))
	if err != nil {
		return nil //nolint:nilerr // a worktree without files has nothing to be brought
	}
	commit := head
	if top, err := w.git.id(ctx, c, head+"^{tree}"); head == "" || err != nil || top != files {
		if commit, err = w.git.commitTree(ctx, c, files, made{"Work of " + name, head}); err != nil {
			return err
		}
	}
	err = w.git.moveRefs(ctx, call{dir: p.dir}, "join", []move{{"refs/heads/" + name, "", commit}})
	if err != nil {
		w.note("the branch %s could not be made: %s", name, err)
	}
	return ctx.Err()
}
