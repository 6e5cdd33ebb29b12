// Package conversations knows which conversations of the agent CLI a step of a job has
// made or put back, and removes them when they are stored. The CLI keeps every
// conversation in a folder below HOME; on a machine that many jobs share they would
// stay there, with the secrets in them.
package conversations

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
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
	Placed *runner.Mark `json:"placed,omitempty"`
}

// Left is a conversation that a run needs, as a step has left it.
type Left struct {
	runner.Mark
	// Kept says that a checkpoint holds it, or that none will ever hold it.
	Kept bool `json:"kept"`
}

// LeftBehind returns, by session, the conversations that a run needs at the end of a
// step. The parts are what was to be stored of them, isKept whether that has
// been done, or is not to be done at all. A file that has changed since is not kept.
func LeftBehind(parts []checkpoint.Part, isKept bool) map[string]Left {
	left := map[string]Left{}
	for _, t := range parts {
		id := strings.TrimSuffix(filepath.Base(t.Name), ".jsonl")
		mark, err := transcripts.MarkOf(t.Path)
		left[id] = Left{mark, isKept && err == nil && mark.Size == t.Size}
	}
	return left
}

// Clear removes conversations of a step from the folders of the agent CLIs, and returns the
// sessions of those that it could not remove. What the run needs is removed only if it
// was kept and is still as it was then. Of a run whose end is never to be stored
// (isUnstored) left does not count: its own conversations are removed, and those that
// were put back unless somebody has spoken in them.
func Clear(agents map[string]runner.Agent, own []Own, left map[string]Left, isUnstored bool) (failed []string) {
	for _, o := range own {
		only := o.Placed // the checkpoint that it came from has it
		if l, isNeeded := left[o.ID]; isNeeded && !isUnstored {
			if !l.Kept {
				continue
			}
			only = &l.Mark
		} else if !isUnstored {
			only = nil // whatever was said in it, the run needs it no more
		}
		if err := o.clear(agents, only); err != nil {
			failed = append(failed, o.ID)
		}
	}
	return failed
}

// clear removes the conversation; with a mark, only as long as it is of that.
func (o Own) clear(agents map[string]runner.Agent, only *runner.Mark) error {
	cli, ok := agents[o.cli()]
	if !ok {
		return fmt.Errorf("there is no agent %q", o.cli())
	}
	return cli.Clear(runner.Conversation{ID: o.ID, CLI: o.CLIID}, only)
}

// cli is the name of the agent CLI.
func (o Own) cli() string { return cmp.Or(o.Backend, protocol.DefaultBackend) }
