package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// numbers returns the paths of the numbers and durations in a JSON value.
func numbers(v any, at string) []string {
	var paths []string
	switch v := v.(type) {
	case float64:
		return []string{at}
	case string:
		if _, err := time.ParseDuration(v); err == nil {
			return []string{at}
		}
	case map[string]any:
		for key, inner := range v {
			paths = append(paths, numbers(inner, strings.TrimPrefix(at+"."+key, "."))...)
		}
	case []any:
		for i, inner := range v {
			paths = append(paths, numbers(inner, fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	return paths
}

// TestNoCountIsNegative: whatever number of a state file is negative, the file is
// refused, and the error names it.
func TestNoCountIsNegative(t *testing.T) {
	filled := func() map[string]any {
		v := good(t)
		var exec state.Exec
		fill(reflect.ValueOf(&exec).Elem())
		exec.Started, exec.Phase, exec.Running = epoch, state.PhaseAgent, nil
		exec.Session = &state.Session{ID: "s-1"}
		exec.Asked, exec.Verdict.Reason = nil, "no"
		agent := state.Agent{}
		fill(reflect.ValueOf(&agent).Elem())
		agent = state.Agent{
			ID: "main", N: 1, State: "A.md", Status: state.Ready, Exec: &exec,
			Forks: agent.Forks, Cut: agent.Cut, Wait: agent.Wait,
		}
		data, err := json.Marshal(agent)
		must(t, err)
		var main map[string]any
		must(t, json.Unmarshal(data, &main))
		put(t, v, "agents[0]", main)
		put(t, v, "ledger[0].models", []any{map[string]any{"model": "m", "input": 1, "output": 1, "cache_write": 1, "cache_read": 1, "cost_usd": 1}})
		return v
	}
	v := filled()
	data, err := json.Marshal(v)
	must(t, err)
	if _, err := state.Decode(data); err != nil {
		t.Fatalf("the filled run: %v", err)
	}
	paths := numbers(v, "")
	if len(paths) < 30 {
		t.Fatalf("got the numbers %q, want far more", paths)
	}
	for _, path := range paths {
		// Durations of verdicts follow the clock, which people may set back.
		if strings.HasSuffix(path, "_s") || strings.HasSuffix(path, ".rc") || strings.HasSuffix(path, "agent_code") {
			continue
		}
		v := filled()
		var value any = -3
		if strings.HasSuffix(path, "timeout") || strings.HasSuffix(path, "grace") || strings.HasSuffix(path, "wait") {
			value = "-3s"
		}
		put(t, v, path, value)
		data, err := json.Marshal(v)
		must(t, err)
		_, err = state.Decode(data)
		var invalid *state.FileError
		if !errors.As(err, &invalid) || invalid.Field != path {
			t.Errorf("%s = %v: got %v, want a FileError of that field", path, value, err)
		}
	}
}

// TestErrorsAreShort: however deep a file is nested, and however long what it says
// is.
func TestErrorsAreShort(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 9000) + "null" + strings.Repeat("}", 9000)
	for name, data := range map[string]string{
		"nested":      deep,
		"too deep":    strings.Repeat(`{"a":`, 100_000),
		"lists":       strings.Repeat("[", 9000) + "null" + strings.Repeat("]", 9000),
		"a long key":  `{"` + strings.Repeat("k", 50_000) + `": null}`,
		"a long text": strings.Replace(string(encode(t, newRun())), `"run-1"`, `"`+strings.Repeat("x", 50_000)+`"`, 1),
	} {
		_, err := state.Decode([]byte(data))
		if err == nil || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("%s: got an error of %d bytes, want one short line", name, len(fmt.Sprint(err)))
		}
	}
}
