package claude

import (
	"fmt"
	"math"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// prepare cuts the transcript of the session that an order resumes back to the
// length that the order asks for, and checks that the CLI can resume it, or branch it.
func (b *Backend) prepare(o runner.Order) ([]string, *runner.Failure) {
	if o.Prompt.Session == state.Fresh {
		return nil, nil
	}
	session := o.Prompt.SessionID
	if o.Prompt.Session == state.Branch {
		session = o.Prompt.From
	}
	if err := b.Kept().Check(session); err != nil {
		return nil, program.Fatal("session gone: %v", err)
	}
	if o.Prompt.Session != state.Resume {
		return nil, nil
	}
	path, _, ok := b.Kept().Path(o.Prompt.SessionID, o.Dir)
	if !ok {
		if o.Prompt.Cut == nil {
			return nil, nil
		}
		return []string{fmt.Sprintf("no transcript of session %s: nothing was cut back", o.Prompt.SessionID)}, nil
	}
	if o.Prompt.Cut != nil {
		if err := transcripts.CutBack(path, *o.Prompt.Cut); err != nil {
			return nil, program.Fatal("cut back transcript: %v", err)
		}
	}
	// The CLI writes the file before the prompt. Killed in between, it leaves one
	// that it can neither resume nor begin again.
	if ok, err := holdsPrompt(path, math.MaxInt64); err == nil && !ok {
		return nil, program.Fatal("session gone: the transcript of %s holds no prompt", o.Prompt.SessionID)
	}
	return nil, nil
}
