package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/raymond-action/raymond-action/state"
)

// TestRelocateMovesEveryDirectory finds directories by their value: a field that
// gains one and is not moved keeps it.
func TestRelocateMovesEveryDirectory(t *testing.T) {
	run := state.New(state.Run{
		WorkflowID: "wf-1", Mark: "0123456789abcdef0123456789abcdef", Scope: "/old/flow", Entry: "START.md", Dir: "/old",
		Files: map[string]string{"START.md": strings.Repeat("ab", 32)}, Options: state.Options{MaxParallel: 1, MaxAgents: 2, MaxDepth: 2, PermissionMode: "plan"},
	}, "text that names /old", time.Unix(0, 0))
	a := run.Agents[0]
	a.Dir = "/old/tree"
	a.Stack = []state.Frame{{State: "START.md", Dir: "/old/tree/sub"}, {State: "START.md"}}
	before := fileOf(t, run)
	moved, err := run.Relocate(func(path string) string { return strings.Replace(path, "/old", "/new", 1) })
	must(t, err)
	after := fileOf(t, moved)
	if got := strings.Count(string(after), `"/old`); got != 0 {
		t.Errorf("directories that stayed: got %d, want 0\n%s", got, after)
	}
	if got, want := strings.Count(string(after), `"/new`), 4; got != want {
		t.Errorf("directories that moved: got %d, want %d", got, want)
	}
	if moved.Agents[0].Payload != "text that names /old" {
		t.Errorf("payload: got %q, want it as it was", moved.Agents[0].Payload)
	}
	again := fileOf(t, run)
	if diff := cmp.Diff(string(before), string(again)); diff != "" {
		t.Errorf("the run itself changed (-before +after):\n%s", diff)
	}
	same, err := run.Relocate(func(path string) string { return path })
	must(t, err)
	if diff := cmp.Diff(run, same, cmpopts.IgnoreUnexported(state.Run{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("relocated to where it was (-want +got):\n%s", diff)
	}
}
