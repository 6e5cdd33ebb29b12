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

// Prepare creates the files that a rerun from the point needs. It creates a new git worktree next to each
// worktree for which all contains an earlier snapshot, with the files of that snapshot. all may be nil.
// It also copies the conversations. run comes from state.Rerun; the caller must use the returned run
// instead. The notes describe the created files, one line each. After an error, created worktrees remain,
// and the error names them.
func (p Point) Prepare(ctx context.Context, run *state.Run, clis map[string]runner.AgentCLI, all *workspace.Snapshots) (*state.Run, []string, error) {
	lines := []string{fmt.Sprintf("%s reruns %s from state execution %d, %s of %s", run.WorkflowID, p.Run.WorkflowID, p.Exec, p.State, p.Agent)}
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
	ready.Scope = run.Scope // Relocate must not change the path of the workflow
	if len(trees) == 0 {
		files = []string{"no snapshot exists for that point; using the current files in " + ready.Dir}
	}
	return ready, slices.Concat(lines, files, talks), nil
}

// CopyConversations copies the conversations of a run from state.Rerun, and makes the run use the copies.
// A copy ends where the other run's conversation ended at the point of the rerun. The run still has the
// directories of the other run; where returns the new directory for each. If a conversation can't be
// copied, the state begins a new one, and a note of one line reports that.
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
		notes = append(notes, fmt.Sprintf("the conversation %s %s; the agent %s begins a new one", s.ID, why, s.Backend))
	}
	return notes, nil
}

// worktrees maps each worktree of the other run to the new git worktree that replaces it.
type worktrees map[string]string

// checkOut creates a new git worktree for the run id next to each worktree that has a snapshot from
// before the point. It returns notes about them, one line each. If all is nil, it does nothing.
func (p Point) checkOut(ctx context.Context, all *workspace.Snapshots, id string) (worktrees, []string, error) {
	if all == nil {
		return nil, nil, nil
	}
	list, err := all.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	trees, lines, more := worktrees{}, []string{}, []string{}
	for _, one := range workspace.SnapshotsBefore(list, p.Exec) {
		// If the other run is itself a rerun, the name of its worktree ends with its id, which is replaced.
		to := strings.TrimSuffix(one.Dir, "-"+p.Run.WorkflowID) + "-" + id
		notes, err := all.Checkout(ctx, one, to)
		if err != nil {
			return nil, nil, fmt.Errorf("restore the files of %s in %s: %w", one.Dir, to, err)
		}
		trees[one.Dir] = to
		lines, more = append(lines, DescribeSnapshotAge(p, one)+"; they are in the new git worktree "+to), append(more, notes...)
	}
	return trees, append(lines, more...), nil
}

// where returns the new directory for a directory of the other run. For a directory outside of the
// replaced worktrees, it returns dir.
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

// DescribeSnapshotAge returns a text that names the state execution after which a snapshot was taken. The
// parameter one is the last snapshot before the point. Executions between that snapshot and the point may
// have no snapshot, because scripts get none and a snapshot can fail; the text names them too.
func DescribeSnapshotAge(p Point, one workspace.Snapshot) string {
	text := fmt.Sprintf("the files of %s are restored as of state execution %d", one.Dir, one.Exec)
	if one.Exec == 0 {
		text = fmt.Sprintf("the files of %s are restored as of the start of the run", one.Dir)
	}
	if p.Exec > one.Exec+1 {
		text += fmt.Sprintf(", without the changes of state executions %d to %d", one.Exec+1, p.Exec-1)
	}
	return text
}
