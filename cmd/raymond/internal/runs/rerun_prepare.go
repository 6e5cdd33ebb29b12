package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Prepare makes what a run needs that begins at the point: a new git worktree beside each one of which a snapshot, of
// all which may be nil, was taken before, with the files of then, and copies of conversations. run is what Rerun of
// package state has made, and is used up. What was made is told, a line each, and stays after an error, which names the
// worktrees.
func (p Point) Prepare(ctx context.Context, run *state.Run, clis map[string]runner.AgentCLI, all *workspace.Snapshots) (*state.Run, []string, error) {
	told := []string{fmt.Sprintf("%s runs %s again from state execution %d, %s of %s", run.WorkflowID, p.Run.WorkflowID, p.Exec, p.State, p.Agent)}
	trees, files, err := p.checkOut(ctx, all, run.WorkflowID)
	if err != nil {
		return nil, nil, err
	}
	talks, err := CopyConversations(run, clis, trees.where)
	if err != nil {
		return nil, nil, err
	}
	ready, err := run.Relocate(trees.where)
	if err != nil {
		return nil, nil, err
	}
	ready.Scope = run.Scope // the workflow is that of now
	if len(trees) == 0 {
		files = []string{"there is no snapshot of the files of then: they are as they are now in " + ready.Dir}
	}
	return ready, slices.Concat(told, files, talks), nil
}

// CopyConversations gives a run, which Rerun of package state has made, conversations of its own: copies
// that end where those of the other run had ended by then. The directories of the run are still
// those of the other one; where returns the one of the new run in the place of one of them. Conversations that can't be
// copied begin anew, which the notes say, a line each.
func CopyConversations(run *state.Run, clis map[string]runner.AgentCLI, where func(dir string) string) (notes []string, err error) {
	for _, s := range checkpoint.Sessions(run) {
		cli, ok := clis[s.Backend]
		if !ok {
			return nil, fmt.Errorf("there is no agent %q", s.Backend)
		}
		from := runner.Conversation{ID: s.ID, CLI: s.CLIID, Dir: s.Dirs[0]}
		if found, ok := cli.Find(from, s.Dirs); ok {
			from.Dir = found.Dir
		}
		id, why := uuid.NewString(), ""
		cliID, err := cli.Copy(from, run.TranscriptLength(s.ID), id, where(from.Dir))
		switch {
		case err == nil:
			run.RenameSession(s.ID, id, cliID)
			continue
		case errors.Is(err, runner.ErrCantCopy):
			why = "can't be copied"
		case errors.Is(err, fs.ErrNotExist):
			why = "is no longer there, or shorter than it was"
		default:
			return nil, fmt.Errorf("copy the conversation %s: %w", s.ID, err)
		}
		run.ForgetConversations(func(id string) bool { return id == s.ID })
		notes = append(notes, fmt.Sprintf("the conversation %s %s: the agent %s begins a new one", s.ID, why, s.Backend))
	}
	return notes, nil
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
	for _, one := range workspace.SnapshotsBefore(list, p.Exec) {
		// That of a rerun has its name already.
		to := strings.TrimSuffix(one.Dir, "-"+p.Run.WorkflowID) + "-" + id
		notes, err := all.Checkout(ctx, one, to)
		if err != nil {
			return nil, nil, fmt.Errorf("put the files of %s as they were into %s: %w", one.Dir, to, err)
		}
		trees[one.Dir] = to
		told, more = append(told, DescribeSnapshotAge(p, one)+"; they are in the new git worktree "+to), append(more, notes...)
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

// DescribeSnapshotAge says how old the files of the last snapshot before a point are. No snapshot follows a script, or a prompt whose
// files could not be saved.
func DescribeSnapshotAge(p Point, one workspace.Snapshot) string {
	text := fmt.Sprintf("the files of %s are as they were after state execution %d", one.Dir, one.Exec)
	if one.Exec == 0 {
		text = fmt.Sprintf("the files of %s are as they were when the run began", one.Dir)
	}
	if p.Exec > one.Exec+1 {
		text += fmt.Sprintf(": what state executions %d to %d have changed there is not in them", one.Exec+1, p.Exec-1)
	}
	return text
}
