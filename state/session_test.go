package state_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestSessionWithABadNameIsDropped: a name that the state file could not be read
// with is never in it, however the invocation ended. (play checks each run.)
func TestSessionWithABadNameIsDropped(t *testing.T) {
	for _, session := range []string{"../../../tmp/x", ".hidden", "a b", "é", strings.Repeat("x", 200)} {
		for _, word := range []string{"work", "died", "mute"} {
			p := newPlay(t, nil)
			p.start("main")
			o := answers(word)
			o.Session, o.Process.CLIID = session, session
			p.end("main", o)
			assert.Check(t, !strings.Contains(string(fileOf(t, p.run)), session), "%s with session %q: the file has it", word, session)
		}
	}
}
