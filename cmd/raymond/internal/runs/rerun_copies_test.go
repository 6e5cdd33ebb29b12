package runs_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// copyist is a fake agent CLI that records which conversations it copies.
type copyist struct {
	runner.AgentCLI
	wrong map[string]error // errors of Copy, by conversation
	done  []string
}

func (c *copyist) Find(_ runner.Conversation, dirs []string) (runner.TranscriptFile, bool) {
	return runner.TranscriptFile{Dir: dirs[len(dirs)-1]}, true
}

func (c *copyist) Copy(k runner.Conversation, length int64, id, dir string) (string, error) {
	if err := c.wrong[k.ID]; err != nil {
		return "", fmt.Errorf("it is as it is: %w", err)
	}
	c.done = append(c.done, fmt.Sprintf("copy %d of %s in %s to %s in %s", length, k.ID, k.Dir, id, dir))
	return "cli-" + id, nil
}

// runWithConversations returns a run whose agent branches off from the conversation of its caller.
func runWithConversations() *state.Run {
	end := int64(70)
	r := state.New(state.Run{WorkflowID: "w", Entry: "A.md", Dir: "/work"}, "", time.Now())
	a := r.Agents[0]
	a.Session, a.Branch = &state.Session{ID: "caller", End: &end}, true
	a.Stack = []state.Frame{{State: "B.md", Session: &state.Session{ID: "caller", End: &end}}, {State: "C.md", Session: &state.Session{ID: "other"}, Branch: true}}
	return r
}

// prepare calls CopyConversations for a run whose only agent CLI is c.
func prepare(c *copyist, r *state.Run) ([]string, error) {
	return runs.CopyConversations(r, map[string]runner.AgentCLI{"claude": c}, func(dir string) string { return "/new" + dir })
}

// TestConversationsAreCopied checks that each conversation is copied once, up to the needed length, and
// that all references name the copies.
func TestConversationsAreCopied(t *testing.T) {
	c, r := &copyist{}, runWithConversations()
	notes, err := prepare(c, r)
	assert.NilError(t, err)
	assert.Assert(t, is.Len(notes, 0))
	a := r.Agents[0]
	of, other := a.Session.ID, a.Stack[1].Session.ID
	want := []string{"copy 70 of caller in /work to " + of + " in /new/work", "copy -1 of other in /work to " + other + " in /new/work"}
	assert.Check(t, is.DeepEqual(c.done, want), "done")
	if of == "caller" || a.Session.CLIID != "cli-"+of || a.Stack[0].Session.ID != of || !a.Branch || !a.Stack[1].Branch {
		t.Errorf("got the agent %+v, want it in the copies", a)
	}
}

// TestUncopiedConversationsBeginAnew checks that a new conversation begins if the earlier one can't be
// copied, and that a note reports it.
func TestUncopiedConversationsBeginAnew(t *testing.T) {
	for _, why := range []error{runner.ErrCantCopy, fs.ErrNotExist} {
		c, r := &copyist{wrong: map[string]error{"caller": why}}, runWithConversations()
		notes, err := prepare(c, r)
		assert.Check(t, err == nil && len(notes) == 1 && strings.Contains(notes[0], "caller"), "%v: got the notes %q (%v), want one", why, notes, err)
		a := r.Agents[0]
		if a.Session != nil || a.Branch || a.Stack[0].Session != nil || a.Stack[1].Session.ID == "other" {
			t.Errorf("%v: got the agent %+v, want a copy of the other conversation alone", why, a)
		}
	}
}
