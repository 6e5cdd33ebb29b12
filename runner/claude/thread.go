package claude

import (
	"fmt"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/state"
)

// thread is the main thread of a conversation.
type thread struct {
	session string // as the CLI reports it
	model   string
	text    program.Message // since the last tool result
}

// checkSession compares the session that the CLI works in with the one that was
// asked for. Another one for a fresh session is worth a note.
func (t *thread) checkSession(id string, asked runner.PromptOrder) (note string, _ *runner.Failure) {
	if id == "" || id == t.session {
		return "", nil
	}
	if !state.ValidSession(id) {
		return "", program.CantKeep("the CLI named its session", id)
	}
	t.session = id
	switch {
	case id == asked.SessionID:
	case asked.Session == state.Resume:
		return "", program.Fatal("session %s was replaced by %q", asked.SessionID, id)
	case id == asked.From:
		return "", program.Fatal("session %s was continued, not branched", id)
	default:
		return fmt.Sprintf("the CLI chose session %q itself, not %s", id, asked.SessionID), nil
	}
	return "", nil
}
