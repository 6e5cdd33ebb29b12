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

// Own is a conversation that a step has made or put back.
type Own struct {
	ID string `json:"session"`
	// Backend is the agent CLI that it belongs to, "" for the default one, and CLIID the
	// CLI's own id of it; "" when that is ID, or not known.
	Backend string `json:"backend,omitempty"`
	CLIID   string `json:"cli_id,omitempty"`
	// Placed is the file that was put back; nil for a conversation that the step has
	// made.
	Placed *runner.Fingerprint `json:"placed,omitempty"`
}

// left is a conversation that a run needs, as a step has left it.
type left struct {
	runner.Fingerprint
	// Kept says that a checkpoint holds it, or that none will ever hold it.
	Kept bool `json:"kept"`
}

// leftBehind returns, by session, the conversations that a run needs at the end of a
// step. The parts are what was to be stored of them, isKept whether that has
// been done, or is not to be done at all. A file that has changed since is not kept.
func leftBehind(parts []checkpoint.Entry, isKept bool) map[string]left {
	all := map[string]left{}
	for _, t := range parts {
		id := strings.TrimSuffix(filepath.Base(t.Name), ".jsonl")
		mark, err := transcripts.FingerprintOf(t.Path)
		all[id] = left{mark, isKept && err == nil && mark.Size == t.Size}
	}
	return all
}

// ClearTalks removes conversations of a step from the folders of the agent CLIs, and returns the
// sessions of those that it could not remove: on a machine that many jobs share they would
// stay there, with the secrets in them. What the run needs, by the chain of its checkpoints, is removed only if it
// was kept and is still as it was then. Of a run whose end is never to be stored
// (isUnstored) the chain does not count: its own conversations are removed, and those that
// were put back unless somebody has spoken in them.
func ClearTalks(agents map[string]runner.AgentCLI, own []Own, c Chain, isUnstored bool) (failed []string) {
	for _, o := range own {
		only := o.Placed // the checkpoint that it came from has it
		if l, isNeeded := c.Sessions[o.ID]; isNeeded && !isUnstored {
			if !l.Kept {
				continue
			}
			only = &l.Fingerprint
		} else if !isUnstored {
			only = nil // whatever was said in it, the run needs it no more
		}
		cli := agents[cmp.Or(o.Backend, protocol.DefaultBackend)]
		if cli == nil || cli.Clear(runner.Conversation{ID: o.ID, CLI: o.CLIID}, only) != nil {
			failed = append(failed, o.ID)
		}
	}
	return failed
}

// BringTalks puts the conversations that a run needs from where some agent CLIs keep them to where others do: to another
// folder, since it ran without a cage, or since it is another run's. What is there already, and not shorter, stays.
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
