package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// Bringing is work that is added to the repositories here as branches.
type Bringing struct {
	Restoring
	// Branches has, by its name, the directory here in whose worktree a branch was made.
	Branches map[string]string
}

// Bring adds the work of a save as branches, each with a commit that has the files of a
// worktree, tracked and untracked, on top of the commit that it was at. Neither worktrees
// nor other branches are touched. It returns notes for people on what could not be added;
// the errors are those of Restore.
func (g *Git) Bring(ctx context.Context, b Bringing) (notes []string, err error) {
	w, all, err := g.begin(b.Restoring, "bring")
	if w == nil {
		return nil, err
	}
	defer w.git.close()
	for i := range all {
		if err := w.bring(ctx, &all[i], b.Branches); err != nil {
			return w.notes, err
		}
	}
	return w.notes, nil
}

// bring adds the work in one repository.
func (w *restorer) bring(ctx context.Context, r *repository, branches map[string]string) error {
	wanted := w.wanted(r, branches)
	if len(wanted) == 0 {
		return nil
	}
	if _, err := w.weigh(r); err != nil {
		return err
	}
	p, err := w.locate(ctx, r)
	if errors.As(err, new(*Conflict)) {
		w.note("the work in %s is not brought back: there is no such repository here", w.Dir(r.Trees[0].Dir))
		return nil
	}
	if err != nil {
		return err
	}
	if err := w.receive(ctx, p); err != nil {
		return err
	}
	for _, n := range wanted {
		if err := w.branch(ctx, p, n); err != nil {
			return err
		}
	}
	return nil
}

// branchOf is a branch that gets the files of a worktree.
type branchOf struct {
	name string
	tree int // of the repository
}

// wanted are the branches that are made of worktrees of a repository, by name.
func (w *restorer) wanted(r *repository, branches map[string]string) []branchOf {
	var list []branchOf
	for name, dir := range branches {
		best := -1
		for i, t := range r.Trees {
			top := w.Dir(t.Dir)
			if cage.IsWithin(dir, top) && (best < 0 || len(top) > len(w.Dir(r.Trees[best].Dir))) {
				best = i
			}
		}
		if best >= 0 && isBranch(name) {
			list = append(list, branchOf{name, best})
		}
	}
	slices.SortFunc(list, func(a, b branchOf) int { return strings.Compare(a.name, b.name) })
	return list
}

// branch makes one branch, in place of an older one of its name.
func (w *restorer) branch(ctx context.Context, p *plan, b branchOf) error {
	c := call{dir: p.common, bare: p.common}
	head := p.saved.Trees[b.tree].Head
	files, err := w.git.id(ctx, c, fmt.Sprintf("%s:%d/work", p.saved.Save, b.tree))
	if err != nil {
		return nil //nolint:nilerr // a worktree without files has nothing to be brought
	}
	commit := head
	if top, err := w.git.id(ctx, c, head+"^{tree}"); head == "" || err != nil || top != files {
		args := []string{"commit-tree", files, "-m", "Work of " + b.name}
		if head != "" {
			args = append(args, "-p", head)
		}
		out, err := w.git.output(ctx, c, args...)
		if err != nil {
			return err
		}
		commit = strings.TrimSpace(string(out))
	}
	err = w.git.moveRefs(ctx, call{dir: p.dir}, "join", []move{{"refs/heads/" + b.name, "", commit}})
	if err != nil {
		w.note("the branch %s could not be made: %s", b.name, err)
	}
	return ctx.Err()
}
