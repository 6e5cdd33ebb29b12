package state_test

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// TestForgottenConversationsAreNotContinued checks that after ForgetConversations no field of a run refers
// to a lost conversation, and that other conversations remain.
func TestForgottenConversationsAreNotContinued(t *testing.T) {
	const lost, kept = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	for _, id := range []string{lost, kept} {
		length, session, run := int64(7), &state.Session{ID: id}, statetest.NewRun()
		a := run.Agents[0]
		a.Session, a.Branch, a.Status = session, true, state.Busy
		a.Stack = []state.Frame{{State: "A.md", Session: session, Branch: true}}
		a.Exec = &state.Exec{
			Iteration: 1, Attempt: 1, Phase: state.PhaseAgent, Session: session, Reminder: "again", Continue: true, EntryLen: &length,
			Running: &state.Invocation{N: 1, Mode: state.Resume, SessionID: id, Length: &length},
		}
		run.ForgetConversations(func(s string) bool { return s == lost })
		a.Exec.Running = nil
		plan := a.Plan(&protocol.State{Name: "A.md", Kind: protocol.Prompt}, statetest.FullCLI)
		data := statetest.Encode(t, run)
		fresh, named := plan.Mode == state.Fresh && plan.Cut == nil, strings.Contains(string(data), id)
		if want := id == lost; fresh != want || named == want {
			t.Errorf("session %s: got a plan %+v and a state that names it: %t; want fresh and unnamed: %t", id, plan, named, want)
		}
	}
}
