package runs

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Copies are the conversations of a new run, which are cut copies of those of another one.
type Copies struct {
	// Notes say which conversations begin anew, and why, a line each.
	Notes []string

	made []copied
}

// copied is a conversation that was made.
type copied struct {
	cli          runner.Agent
	conversation runner.Conversation
}

// Copier makes the copies.
type Copier struct {
	Agents map[string]runner.Agent // the agent CLIs, by name
	// Where returns the directory of the new run that has the place of one of the other run.
	Where func(string) string
	NewID func() string // a UUID
}

// Copy gives the run, which Rerun of package state has made, conversations of its own: copies
// that end where those of the other run had ended by then. The directories of the run are still
// those of the other one. Conversations that can't be copied begin anew.
func (c Copier) Copy(run *state.Run) (*Copies, error) {
	out := &Copies{}
	for _, s := range checkpoint.Sessions(run) {
		if err := c.copy(run, s, out); err != nil {
			return out, errors.Join(err, out.Remove())
		}
	}
	return out, nil
}

func (c Copier) copy(run *state.Run, s checkpoint.Session, out *Copies) error {
	cli, ok := c.Agents[s.Backend]
	if !ok {
		return fmt.Errorf("there is no agent %q", s.Backend)
	}
	from := runner.Conversation{ID: s.ID, CLI: s.CLIID, Dir: s.Dirs[0]}
	if found, ok := cli.Find(from, s.Dirs); ok {
		from.Dir = found.Dir
	}
	to := runner.Conversation{ID: c.NewID(), Dir: c.Where(from.Dir)}
	lost := func(id string) bool { return id == s.ID }
	var err error
	to.CLI, err = cli.Copy(from, run.LengthOf(s.ID), to.ID, to.Dir)
	switch {
	case errors.Is(err, runner.ErrCantCopy):
		run.Forget(lost)
		out.Notes = append(out.Notes, fmt.Sprintf("the agent %s can't continue a copy of its conversation %s: it begins a new one", s.Backend, s.ID))
	case errors.Is(err, fs.ErrNotExist):
		run.Forget(lost)
		out.Notes = append(out.Notes, fmt.Sprintf("the transcript of the conversation %s is no longer there, or shorter than it was: the agent %s begins a new one", s.ID, s.Backend))
	case err != nil:
		return fmt.Errorf("copy the conversation %s: %w", s.ID, err)
	default:
		run.RenameSession(s.ID, to.ID, to.CLI)
		out.made = append(out.made, copied{cli, to})
	}
	return nil
}

// Remove removes the copies, of a run that can't begin.
func (c *Copies) Remove() error {
	var errs []error
	for _, m := range c.made {
		errs = append(errs, m.cli.Clear(m.conversation, nil))
	}
	return errors.Join(errs...)
}
