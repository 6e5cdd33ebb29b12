package runs

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Copies are the conversations of a new run, which are cut copies of those of another one.
type Copies struct {
	// Notes say which conversations begin anew, and why, a line each.
	Notes []string

	undo []func() error
}

// CopyConversations gives a run, which Rerun of package state has made, conversations of its own: copies
// that end where those of the other run had ended by then. The directories of the run are still
// those of the other one; where returns the one of the new run in the place of one of them. Conversations that can't be
// copied begin anew. After an error there are no copies.
func CopyConversations(run *state.Run, clis map[string]runner.Agent, where func(dir string) string) (*Copies, error) {
	out := &Copies{}
	for _, s := range checkpoint.Sessions(run) {
		cli, ok := clis[s.Backend]
		if !ok {
			return nil, errors.Join(fmt.Errorf("there is no agent %q", s.Backend), out.Remove())
		}
		from := runner.Conversation{ID: s.ID, CLI: s.CLIID, Dir: s.Dirs[0]}
		if found, ok := cli.Find(from, s.Dirs); ok {
			from.Dir = found.Dir
		}
		to := runner.Conversation{ID: uuid.NewString(), Dir: where(from.Dir)}
		var err error
		to.CLI, err = cli.Copy(from, run.LengthOf(s.ID), to.ID, to.Dir)
		why := ""
		switch {
		case err == nil:
			run.RenameSession(s.ID, to.ID, to.CLI)
			out.undo = append(out.undo, func() error { return cli.Clear(to, nil) })
			continue
		case errors.Is(err, runner.ErrCantCopy):
			why = "can't be copied"
		case errors.Is(err, fs.ErrNotExist):
			why = "is no longer there, or shorter than it was"
		default:
			return nil, errors.Join(fmt.Errorf("copy the conversation %s: %w", s.ID, err), out.Remove())
		}
		run.Forget(func(id string) bool { return id == s.ID })
		out.Notes = append(out.Notes, fmt.Sprintf("the conversation %s %s: the agent %s begins a new one", s.ID, why, s.Backend))
	}
	return out, nil
}

// Remove removes the copies, of a run that can't begin.
func (c *Copies) Remove() error {
	var errs []error
	for _, undo := range c.undo {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}
