package checkpoints

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// Own is a conversation that a step has created or restored.
type Own struct {
	ID string `json:"session"`
	// Backend is the agent CLI, "" for the default one. CLIID is the CLI's own id of the
	// conversation, "" if it equals ID or is not known.
	Backend string `json:"backend,omitempty"`
	CLIID   string `json:"cli_id,omitempty"`
	// Placed identifies the content of the restored file; nil for a conversation that the step has
	// created.
	Placed *runner.Fingerprint `json:"placed,omitempty"`
}

// left is a conversation that a run needs, as a step has left it.
type left struct {
	runner.Fingerprint
	// Kept is set if a checkpoint contains the conversation, or never will.
	Kept bool `json:"kept"`
}

// leftBehind returns the conversations, by session, that a run needs at the end of a step. parts
// are their files for the checkpoint. isKept is true if these have been stored, or never will be. A
// file that has changed in between does not count as kept.
func leftBehind(parts []checkpoint.Entry, isKept bool) map[string]left {
	all := map[string]left{}
	for _, t := range parts {
		id := strings.TrimSuffix(filepath.Base(t.Name), ".jsonl")
		mark, err := transcripts.FingerprintOf(t.Path)
		all[id] = left{mark, isKept && err == nil && mark.Size == t.Size}
	}
	return all
}

// ClearTalks removes the conversations of a step from the directories of the agent CLIs, because on
// a shared machine they would stay there with the secrets in them. It returns the sessions of
// conversations that it could not remove. A conversation that the run still needs, according to the
// chain, is removed only if it was stored and has not changed since. If the end of the run will
// never be stored (isUnstored), the chain is ignored: the step's own conversations are removed, and
// restored ones unless they have changed.
func ClearTalks(agents map[string]runner.AgentCLI, own []Own, c Chain, isUnstored bool) (failed []string) {
	for _, o := range own {
		only := o.Placed // the checkpoint that it came from contains it
		if l, isNeeded := c.Sessions[o.ID]; isNeeded && !isUnstored {
			if !l.Kept {
				continue
			}
			only = &l.Fingerprint
		} else if !isUnstored {
			only = nil // the run no longer needs it, changed or not
		}
		cli := agents[cmp.Or(o.Backend, protocol.DefaultBackend)]
		if cli == nil || cli.Clear(runner.Conversation{ID: o.ID, CLI: o.CLIID}, only) != nil {
			failed = append(failed, o.ID)
		}
	}
	return failed
}

// BringTalks copies the conversations that a run needs from the directories of some agent CLIs to
// the directories of others: the run had no cage before, or the conversations belong to another
// run. An existing conversation that is not shorter stays.
func BringTalks(from, to map[string]runner.AgentCLI, run *state.Run) error {
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
