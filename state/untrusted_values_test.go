package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// filledRun returns the JSON of a valid run. All counts are set in its first agent and in its ledger.
func filledRun(t *testing.T) map[string]any {
	t.Helper()
	var exec state.Exec
	state.Fill(reflect.ValueOf(&exec).Elem())
	exec.Started, exec.Phase, exec.Running = statetest.Epoch, state.PhaseAgent, nil
	exec.Session, exec.PendingMove, exec.Verdict.Reason = &state.Session{ID: "s-1"}, nil, "no"
	main := state.Agent{
		ID: "main", N: 1, State: "A.md", By: "start", Visits: map[string]int{"A.md": 1}, Status: state.Ready, Exec: &exec, Forks: 1, Cut: new(int64(1)), Wait: 1,
	}
	data, err := json.Marshal(main)
	assert.NilError(t, err)
	v, agent := goodRun(t), map[string]any{}
	assert.NilError(t, json.Unmarshal(data, &agent))
	setPath(t, v, "agents[0]", agent)
	setPath(t, v, "ledger[0].models", []any{map[string]any{"model": "m", "input": 1, "output": 1, "cache_write": 1, "cache_read": 1, "cost_usd": 1}})
	return v
}

// place is a value inside a larger JSON value. It can be replaced by calling set.
type place struct {
	path  string
	value any
	set   func(any)
}

// places returns all values inside v, at any depth. at is the path of v.
func places(v any, at string) []place {
	var all []place
	add := func(path string, value any, set func(any)) {
		all = append(append(all, place{path, value, set}), places(value, path)...)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			add(strings.TrimPrefix(at+"."+key, "."), inner, func(x any) { v[key] = x })
		}
	case []any:
		for i, inner := range v {
			add(fmt.Sprintf("%s[%d]", at, i), inner, func(x any) { v[i] = x })
		}
	}
	return all
}

// negative returns a negative value for a field that counts something, and false for other fields. It leaves
// out durations in verdicts, which may be negative if the clock was set back.
func (p place) negative() (any, bool) {
	for _, end := range []string{"_s", ".rc", "agent_code"} {
		if strings.HasSuffix(p.path, end) {
			return nil, false
		}
	}
	if text, ok := p.value.(string); ok {
		_, err := time.ParseDuration(text)
		return "-3s", err == nil
	}
	_, ok := p.value.(float64)
	return -3, ok
}

// extremes are values that programs often handle incorrectly.
var extremes = []any{
	nil, true, "", "main", "main_b1", "A.md", "../x", "running", "failed", "ready", "waiting", "branch", "9999999h", 0.0, 1.0, 3.0, 9e18, 0.5,
	[]any{}, []any{nil}, map[string]any{}, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
}

// TestNoValueIsTrusted replaces each value in a state file by each of the extreme values. The file must be
// rejected, or the run must be able to continue. A negative count must be rejected with an error that names
// the field.
func TestNoValueIsTrusted(t *testing.T) {
	accepted, counts, seen := 0, 0, map[string]bool{}
	for _, v := range []map[string]any{goodRun(t), filledRun(t)} {
		decode := func() (*state.Run, *state.FileError, []byte) {
			data, err := json.Marshal(v)
			assert.NilError(t, err)
			run, err := state.Decode(data)
			var bad *state.FileError
			assert.Assert(t, err == nil || errors.As(err, &bad), "got %v, want a FileError\n%s", err, data)
			return run, bad, data
		}
		_, bad, data := decode()
		assert.Assert(t, is.Nil(bad), "the run itself: %v\n%s", bad, data)
		for _, p := range places(v, "") {
			if seen[p.path] {
				continue
			}
			seen[p.path] = true
			for _, value := range extremes {
				p.set(value)
				if run, bad, _ := decode(); bad == nil {
					accepted++
					continueRun(t, run)
				}
			}
			if value, ok := p.negative(); ok {
				counts++
				p.set(value)
				if _, bad, _ := decode(); bad == nil || bad.Field != p.path {
					t.Errorf("%s = %v: got %v, want a FileError of that field", p.path, value, bad)
				}
			}
			p.set(p.value)
		}
	}
	assert.Check(t, accepted >= 100, "got %d files accepted and %d counts, want far more", accepted, counts)
	assert.Check(t, counts >= 50, "got %d files accepted and %d counts, want far more", accepted, counts)
}
