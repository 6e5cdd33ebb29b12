package state_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// TestMapReachesEveryText fills all fields of an event that has some of every
// kind, today's and next year's.
func TestMapReachesEveryText(t *testing.T) {
	code := 3
	for _, body := range []state.Body{
		&state.AgentStarted{Parent: "secret", Vars: map[string]string{"key": "a secret"}},
		&state.StateFinished{Denied: []string{"Bash(secret)"}, Error: "secret"},
		&state.NodeAttempt{Reason: "secret", Results: []state.CommandResult{{Cmd: "secret", RC: code, Tail: "x secret y"}}},
		&state.RunFinished{Reason: "secret"}, &state.AgentOutput{Text: "secret"}, &state.Transition{Target: "secret"},
	} {
		e := state.Event{Seq: 1, Time: time.Unix(5, 0).UTC(), Agent: "main", State: "S.md", Body: body}
		before, err := e.Line("id")
		must(t, err)
		got, err := e.Map(func(s string) string { return strings.ReplaceAll(s, "secret", "***") }).Line("id")
		must(t, err)
		want := strings.ReplaceAll(string(before), "secret", "***")
		if string(got) != want {
			t.Errorf("%s: got %s, want %s", body.Type(), got, want)
		}
		after, err := e.Line("id")
		if diff := cmp.Diff(string(before), string(after)); diff != "" || err != nil {
			t.Errorf("%s itself changed (%v):\n%s", body.Type(), err, diff)
		}
		if same := e.Map(func(s string) string { return s }); !reflect.DeepEqual(e, same) {
			t.Errorf("mapped to itself: got %+v, want %+v", same, e)
		}
	}
}
