package state_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// TestSessionWithABadNameIsDropped: a name that the state file could not be read
// with is never in it, however the invocation ended. (play checks each run.)
func TestSessionWithABadNameIsDropped(t *testing.T) {
	for _, session := range []string{"../../../tmp/x", ".hidden", "a/b", "a b", "é", string(make([]byte, 200))} {
		for name, o := range map[string]state.Outcome{
			"good":   {Decision: protocol.Decision{Then: goTo("B.md")}},
			"failed": {Failure: &state.Failure{Class: state.Transient, Message: "died"}},
			"asked":  {Problems: []protocol.Problem{{Message: "no tag"}}, Reminder: "Again."},
		} {
			p := newPlay(t, nil)
			p.start("main")
			o.Session = session
			p.end("main", o)
			for _, e := range p.run.Ledger {
				if e.Session == session {
					t.Errorf("%s with session %q: the ledger has it", name, session)
				}
			}
		}
	}
}
