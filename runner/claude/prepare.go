package claude

import (
	"fmt"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/state"
)

// prepare cuts the transcript of the session that an order resumes back to the
// length that the order asks for, and checks that the CLI can resume it.
func (b *Backend) prepare(o runner.Order) ([]string, *runner.Failure) {
	if o.Session != state.Resume {
		return nil, nil
	}
	path, ok := b.transcripts().Path(o.SessionID, o.Dir)
	if !ok {
		if o.Cut == nil {
			return nil, nil
		}
		return []string{fmt.Sprintf("no transcript of session %s: nothing was cut back", o.SessionID)}, nil
	}
	if o.Cut != nil {
		if err := transcript.CutBack(path, *o.Cut); err != nil {
			return nil, fatal("cut back transcript: %v", err)
		}
	}
	// The CLI writes the file before the prompt. Killed in between, it leaves one
	// that it can neither resume nor begin again.
	if ok, err := transcript.HoldsPrompt(path); err == nil && !ok {
		return nil, fatal("session gone: the transcript of %s holds no prompt", o.SessionID)
	}
	return nil, nil
}

// transcripts is where the CLI keeps its conversations.
func (b *Backend) transcripts() transcript.Folder { return transcript.Folder{Env: b.Env} }
