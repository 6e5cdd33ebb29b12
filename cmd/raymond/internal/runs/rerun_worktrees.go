package runs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// Worktrees are the new git worktrees of a run, which have the files as they were when a state
// execution of another run was about to start.
type Worktrees struct {
	Notes []string // for people, a line each
	trees []worktree
}

// worktree has the place of another one, and says of when its files are.
type worktree struct{ was, is, files string }

// FilesOf says of when the files of a snapshot are that was taken before a point: only prompts are followed by one.
func FilesOf(p Point, one workspace.Snapshot) string {
	text := fmt.Sprintf("the files of %s are as they were after state execution %d", one.Dir, one.Exec)
	if one.Exec == 0 {
		text = fmt.Sprintf("the files of %s are as they were when the run began", one.Dir)
	}
	if p.Exec > one.Exec+1 {
		text += ": what scripts have changed since is not in them"
	}
	return text
}

// CheckOut makes a new git worktree for the run id beside each one of which a snapshot was taken
// before the point. Without any snapshot there are none.
func (p Point) CheckOut(ctx context.Context, all *workspace.Snapshots, id string) (*Worktrees, error) {
	list, err := all.List(ctx)
	if err != nil {
		return nil, err
	}
	w := &Worktrees{}
	for _, one := range workspace.Before(list, p.Exec) {
		// That of a rerun has its name already.
		t := worktree{one.Dir, strings.TrimSuffix(one.Dir, "-"+p.Run.WorkflowID) + "-" + id, FilesOf(p, one)}
		notes, err := all.Checkout(ctx, one, t.is)
		if err != nil {
			return w, fmt.Errorf("put the files of %s as they were into %s: %w", t.was, t.is, err)
		}
		w.trees, w.Notes = append(w.trees, t), append(w.Notes, notes...)
	}
	return w, nil
}

// IsMade reports whether there is a new worktree.
func (w *Worktrees) IsMade() bool { return len(w.trees) > 0 }

// Where returns the directory that has the place of one of the other run: the same one unless it
// lies in a worktree of which there is a new one.
func (w *Worktrees) Where(dir string) string {
	best, at := dir, -1
	for _, t := range w.trees {
		rel, err := filepath.Rel(t.was, dir)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) || len(t.was) <= at {
			continue
		}
		best, at = filepath.Join(t.is, rel), len(t.was)
	}
	return best
}
