package state_test

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// mutator changes a JSON tree at random: values move to where they don't belong,
// go away, are doubled, or become extreme.
type mutator struct {
	rnd  *rand.Rand
	seen []json.RawMessage
}

// extremes are values that programs stumble over.
var extremes = []any{
	nil, true, "", "main", "main_b1", "A.md", "../x", "/", "running", "failed", "ready", "fresh", "branch", "resume", "-1s", "9999999h",
	-1.0, 0.0, 1.0, 2.0, 3.0, 9e18, -9e18, 0.5, 1e9, []any{}, map[string]any{}, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
}

// collect notes every value of a tree.
func (m *mutator) collect(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	m.seen = append(m.seen, data)
	switch at := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(at)) {
			m.collect(at[k])
		}
	case []any:
		for _, e := range at {
			m.collect(e)
		}
	}
}

// change returns the tree with one place in it changed.
func (m *mutator) change(v any) any {
	if m.rnd.IntN(6) == 0 {
		return m.other()
	}
	switch at := v.(type) {
	case map[string]any:
		if len(at) == 0 {
			return m.other()
		}
		keys := slices.Sorted(maps.Keys(at))
		key := keys[m.rnd.IntN(len(keys))]
		if m.rnd.IntN(8) == 0 {
			delete(at, key)
			return at
		}
		at[key] = m.change(at[key])
		return at
	case []any:
		return m.changeList(at)
	default:
		return m.other()
	}
}

func (m *mutator) changeList(list []any) any {
	if len(list) == 0 {
		return []any{m.other()}
	}
	n := m.rnd.IntN(len(list))
	switch m.rnd.IntN(5) {
	case 0:
		return slices.Delete(list, n, n+1)
	case 1:
		return append(list, list[n])
	}
	list[n] = m.change(list[n])
	return list
}

// other returns a value from elsewhere.
func (m *mutator) other() any {
	if m.rnd.IntN(2) == 0 {
		return extremes[m.rnd.IntN(len(extremes))]
	}
	var v any
	if err := json.Unmarshal(m.seen[m.rnd.IntN(len(m.seen))], &v); err != nil {
		panic(err)
	}
	return v
}

// mutate returns the file of a run with a few places changed.
func mutate(t *testing.T, seed uint64) []byte {
	t.Helper()
	m := &mutator{rnd: rand.New(rand.NewPCG(seed, 11))}
	var tree any = good(t)
	if seed%3 > 0 {
		must(t, json.Unmarshal(walked(t, seed%50, int(seed%40)), &tree))
	}
	m.collect(tree)
	for range 1 + m.rnd.IntN(3) {
		tree = m.change(tree)
	}
	data, err := json.Marshal(tree)
	must(t, err)
	return data
}

// checkMutated checks that a run with a few places changed is refused as an
// FileError, or can be continued.
func checkMutated(t *testing.T, seed uint64) (accepted bool) {
	t.Helper()
	data := mutate(t, seed)
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("seed %d: panic: %v\n%s", seed, p, data)
		}
	}()
	run, err := state.Decode(data)
	var invalid *state.FileError
	switch {
	case err == nil:
		continueRun(t, run)
	case !errors.As(err, &invalid):
		t.Fatalf("seed %d: got %v, want a FileError\n%s", seed, err, data)
	}
	return err == nil
}

// FuzzMutatedRun: files that are nearly right.
func FuzzMutatedRun(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { checkMutated(t, seed) })
}

// TestMutatedRuns: the same for many of them, of which some must be accepted for
// the test to say anything.
func TestMutatedRuns(t *testing.T) {
	accepted := 0
	for seed := range uint64(600) {
		if checkMutated(t, seed) {
			accepted++
		}
	}
	if accepted < 20 {
		t.Errorf("accepted: got %d of 600 files, want at least 20", accepted)
	}
}
