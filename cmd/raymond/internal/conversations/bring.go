package conversations

import (
	"errors"
	"fmt"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Bring puts the conversations that a run needs from where some agent CLIs keep them to where others do: to another
// folder, since it ran without a cage, or since it is another run's. What is there already, and not shorter, stays.
func Bring(from, to map[string]runner.Agent, run *state.Run) error {
	var errs []error
	for _, s := range checkpoint.Sessions(run) {
		theirs, ours := from[s.Backend], to[s.Backend]
		if theirs == nil || ours == nil {
			continue
		}
		c := runner.Conversation{ID: s.ID, CLI: s.CLIID}
		stored, ok := theirs.Find(c, s.Dirs)
		if there, isThere := ours.Find(c, s.Dirs); !ok || isThere && there.Size >= stored.Size {
			continue
		}
		c.Dir = stored.Dir
		if err := ours.Place(c, stored.Path); err != nil {
			errs = append(errs, fmt.Errorf("conversation %s: %w", s.ID, err))
		}
	}
	return errors.Join(errs...)
}
