package runs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Prepared is a run that can begin, and what was made for it.
type Prepared struct {
	Run          *state.Run
	HasWorktrees bool     // its files are in new git worktrees
	Notes        []string // say what was made, a line each
	Copies       *Copies
}

// Prepare makes what a run needs that begins at the point: a new git worktree beside each one of which a snapshot, of
// all which may be nil, was taken before, with the files of then, and copies of conversations. run is what Rerun of
// package state has made, and is used up. After an error there are no copies, while worktrees are left as they are, and
// the error names them.
func (p Point) Prepare(ctx context.Context, run *state.Run, clis map[string]runner.Agent, all *workspace.Snapshots) (*Prepared, error) {
	out := &Prepared{Notes: []string{fmt.Sprintf("%s runs %s again from state execution %d, %s of %s", run.WorkflowID, p.Run.WorkflowID, p.Exec, p.State, p.Agent)}}
	trees, notes, err := p.checkOut(ctx, all, run.WorkflowID)
	if err != nil {
		return nil, err
	}
	if out.Copies, err = CopyConversations(run, clis, trees.where); err != nil {
		return nil, err
	}
	scope := run.Scope
	if out.Run, err = run.Relocate(trees.where); err != nil {
		return nil, errors.Join(err, out.Copies.Remove())
	}
	out.Run.Scope = scope // the workflow is that of now
	if out.HasWorktrees = len(trees) > 0; !out.HasWorktrees {
		notes = []string{"there is no snapshot of the files of then: they are as they are now in " + out.Run.Dir}
	}
	out.Notes = append(append(out.Notes, notes...), out.Copies.Notes...)
	return out, nil
}

// worktrees are new git worktrees, by those in whose place they are.
type worktrees map[string]string

// checkOut makes a new git worktree for the run id beside each one of which a snapshot was taken
// before the point. It returns what is to be told of them, a line each.
func (p Point) checkOut(ctx context.Context, all *workspace.Snapshots, id string) (worktrees, []string, error) {
	if all == nil {
		return nil, nil, nil
	}
	list, err := all.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	trees, told, more := worktrees{}, []string{}, []string{}
	for _, one := range workspace.Before(list, p.Exec) {
		// That of a rerun has its name already.
		to := strings.TrimSuffix(one.Dir, "-"+p.Run.WorkflowID) + "-" + id
		notes, err := all.Checkout(ctx, one, to)
		if err != nil {
			return nil, nil, fmt.Errorf("put the files of %s as they were into %s: %w", one.Dir, to, err)
		}
		trees[one.Dir] = to
		told, more = append(told, FilesOf(p, one)+"; they are in the new git worktree "+to), append(more, notes...)
	}
	return trees, append(told, more...), nil
}

// where returns the directory that has the place of one of the other run: the same one unless it
// lies in a worktree of which there is a new one.
func (w worktrees) where(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if to, ok := w[at]; ok {
			return to + strings.TrimPrefix(dir, at)
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

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
