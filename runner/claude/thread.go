package claude

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// maxMessage is the longest final message that is accepted, in bytes.
const maxMessage = 10 << 20

// thread is the main thread of a conversation.
type thread struct {
	session string // as the CLI reports it
	model   string
	text    strings.Builder // since the last tool result
}

// add adds a text of the model, and reports false when the message becomes too
// long.
func (t *thread) add(text string) bool {
	if t.text.Len()+len(text) > maxMessage {
		return false
	}
	t.text.WriteString(text)
	return true
}

func tooLong() *runner.Failure { return fatal("the message is over %d MiB", maxMessage>>20) }

// checkSession compares the session that the CLI works in with the one that was
// asked for. Another one for a fresh session is worth a note.
func (t *thread) checkSession(id string, asked runner.PromptOrder) (note string, _ *runner.Failure) {
	if id == "" || id == t.session {
		return "", nil
	}
	if !state.ValidSession(id) {
		return "", fatal("the CLI named its session %.80q, which can't be kept: want letters, digits, -, _ and ., not beginning with a "+
			"point, and 128 of them at most", id)
	}
	t.session = id
	switch {
	case id == asked.SessionID:
	case asked.Session == state.Resume:
		return "", fatal("session %s was replaced by %q", asked.SessionID, id)
	case id == asked.From:
		return "", fatal("session %s was continued, not branched", id)
	default:
		return fmt.Sprintf("the CLI chose session %q itself, not %s", id, asked.SessionID), nil
	}
	return "", nil
}
