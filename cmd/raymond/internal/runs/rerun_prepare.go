package runs

import (
	"context"
	"fmt"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Means are what a rerun is prepared with.
type Means struct {
	Agents    map[string]runner.Agent // the agent CLIs, by name
	Snapshots *workspace.Snapshots    // of the other run; nil to leave the files as they are
	NewID     func() string           // a UUID
}

// Prepared is a run that can begin, and what was made for it.
type Prepared struct {
	Run       *state.Run
	Worktrees *Worktrees
	Copies    *Copies
}

// Prepare makes what a run needs that begins at the point: worktrees with the files of then, and
// copies of conversations. run is what Rerun of package state has made, and is used up. After an
// error there are no copies, while worktrees are left as they are, and the error names them.
func (p Point) Prepare(ctx context.Context, run *state.Run, m Means) (Prepared, error) {
	out := Prepared{Worktrees: &Worktrees{}}
	var err error
	if m.Snapshots != nil {
		if out.Worktrees, err = p.CheckOut(ctx, m.Snapshots, run.WorkflowID); err != nil {
			return out, err
		}
	}
	copies := Copier{Agents: m.Agents, Where: out.Worktrees.Where, NewID: m.NewID}
	if out.Copies, err = copies.Copy(run); err != nil {
		return out, err
	}
	scope := run.Scope
	if out.Run, err = run.Relocate(out.Worktrees.Where); err != nil {
		return out, err
	}
	out.Run.Scope = scope // the workflow is that of now
	return out, nil
}

// Notes say what was made, a line each.
func (p Prepared) Notes(at Point) []string {
	lines := []string{fmt.Sprintf("%s runs %s again from state execution %d, %s of %s", p.Run.WorkflowID, at.Run.WorkflowID, at.Exec, at.State, at.Agent)}
	for _, t := range p.Worktrees.trees {
		lines = append(lines, t.files+"; they are in the new git worktree "+t.is)
	}
	if len(p.Worktrees.trees) == 0 {
		lines = append(lines, "there is no snapshot of the files of then: they are as they are now in "+p.Run.Dir)
	}
	return append(append(lines, p.Worktrees.Notes...), p.Copies.Notes...)
}
