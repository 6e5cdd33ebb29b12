package checkpoint_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// history are the places of a run that name conversations of the past, which no
// resume goes back to.
var history = []string{"Ledger.Session"}

// sessionLike are the names of text fields that hold a conversation's id.
var sessionLike = regexp.MustCompile(`(?i)session|conversation|transcript|^from$|branch`)

// filler sets every field of a run that names a conversation to an id of its own.
type filler struct{ ids map[string]string } // id -> path of the field

func (f *filler) fill(v reflect.Value, at string) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), at)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), at)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(value, at)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		f.fillStruct(v, at)
	}
}

func (f *filler) fillStruct(v reflect.Value, at string) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		here := strings.TrimPrefix(at+"."+field.Name, ".")
		whole := v.Type() == reflect.TypeFor[state.Session]() && field.Name == "ID"
		switch {
		case !field.IsExported():
		case field.Type == reflect.TypeFor[string]() && (whole || sessionLike.MatchString(field.Name)):
			id := fmt.Sprintf("id-%d", len(f.ids))
			f.ids[id] = here
			v.Field(i).SetString(id)
		default:
			f.fill(v.Field(i), here)
		}
	}
}

// TestNoSessionIsForgotten: every field of a run that names a conversation is
// looked at, also one that is yet to be added.
func TestNoSessionIsForgotten(t *testing.T) {
	run := &state.Run{}
	f := &filler{ids: map[string]string{}}
	f.fill(reflect.ValueOf(run).Elem(), "")
	if len(f.ids) < 6 {
		t.Fatalf("fields that name a conversation: got %v, want 6 at least", f.ids)
	}
	run.Dir = "/w"
	want := slices.DeleteFunc(slices.Sorted(maps.Values(f.ids)), func(at string) bool { return slices.Contains(history, at) })
	var got []string
	for _, s := range checkpoint.Sessions(run) {
		got = append(got, f.ids[s.ID])
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-of a run +looked at):\n%s", diff)
	}
}

// TestSessionsAndTheirDirectories: each session once, with the directories it may
// have been held in, the likeliest first.
func TestSessionsAndTheirDirectories(t *testing.T) {
	s := func(id string) *state.Session { return &state.Session{ID: id} }
	run := &state.Run{Dir: "/w", Agents: []*state.Agent{
		{ID: "main", Session: s("m"), Exec: &state.Exec{Running: &state.Invocation{SessionID: "m"}}},
		{ID: "main_a1", Dir: "/t/a", Session: s("a"), Stack: []state.Frame{{Session: s("m")}, {Session: s("f"), Dir: "/t/f"}}},
		{ID: "main_b1", Dir: "/t/b", Session: s("m"), Exec: &state.Exec{
			Session: s("b"), Running: &state.Invocation{Mode: state.Branch, SessionID: "new", From: "m"}}},
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
		{ID: "e", Backend: "codex", CLIID: "thread-2", Dirs: []string{"/w"}},
		{ID: "d", Backend: "codex", CLIID: "thread", Dirs: []string{"/w"}},
	}
	if diff := cmp.Diff(want, checkpoint.Sessions(run)); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}
