package session

import (
	"errors"
	"fmt"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// CopyConversations copies the conversations that a run needs from the directories of some agent CLIs to
// the directories of others: the run had no cage before, or the conversations belong to another
// run. An existing conversation that is not shorter stays.
func CopyConversations(from, to map[string]runner.AgentCLI, run *state.Run) error {
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
