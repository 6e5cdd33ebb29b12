package checkpoint_test

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// TestSessionsAndTheirDirectories checks that each session that a resumed run may use is listed once, with
// its possible directories, the most likely one first.
func TestSessionsAndTheirDirectories(t *testing.T) {
	s := func(id string) *state.Session { return &state.Session{ID: id} }
	run := &state.Run{Dir: "/w", Last: &state.LastConversation{Dir: "/t/l", Session: s("l")}, Agents: []*state.Agent{
		{ID: "main", Session: s("m"), Exec: &state.Exec{Running: &state.Invocation{SessionID: "m"}}},
		{ID: "main_a1", Dir: "/t/a", Session: s("a"), Stack: []state.Frame{{Session: s("m")}, {Session: s("f"), Dir: "/t/f"}}},
		{ID: "main_b1", Dir: "/t/b", Session: s("m"), Exec: &state.Exec{
			Session: s("b"), Running: &state.Invocation{Mode: state.Branch, SessionID: "new", From: "p"}}},
		{ID: "main_c1", Exec: &state.Exec{Running: &state.Invocation{}}},
		{ID: "main_d1", Session: &state.Session{ID: "d", Backend: "codex", CLIID: "thread"}, Exec: &state.Exec{
			Running: &state.Invocation{Mode: state.Branch, Backend: "codex", SessionID: "e", CLIID: "thread-2", From: "d", FromCLIID: "thread"}}},
	}}
	want := []checkpoint.Session{
		{ID: "m", Backend: "claude", Dirs: []string{"/w", "/t/a", "/t/f", "/t/b"}},
		{ID: "a", Backend: "claude", Dirs: []string{"/t/a", "/t/f", "/w"}},
		{ID: "f", Backend: "claude", Dirs: []string{"/t/f", "/t/a", "/w"}},
		{ID: "b", Backend: "claude", Dirs: []string{"/t/b", "/w"}},
		{ID: "new", Backend: "claude", Dirs: []string{"/t/b", "/w"}},
		{ID: "p", Backend: "claude", Dirs: []string{"/t/b", "/w"}},
		{ID: "e", Backend: "codex", CLIID: "thread-2", Dirs: []string{"/w"}},
		{ID: "d", Backend: "codex", CLIID: "thread", Dirs: []string{"/w"}},
		{ID: "l", Backend: "claude", Dirs: []string{"/t/l", "/w"}},
	}
	assert.Check(t, is.DeepEqual(checkpoint.Sessions(run), want), "sessions")
}
