package state_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// FuzzDecode checks that no input makes Decode panic. A run that Decode accepts must be valid, must not
// change if it is encoded and decoded again, and must be able to continue.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(8) {
		w := &statetest.Walker{Rand: rand.New(rand.NewPCG(seed, 3))}
		run := statetest.NewRun()
		for range 4 * seed {
			next := run.With(w.Step(run))
			if len(next.Agents) == 0 {
				break
			}
			run = next
		}
		f.Add(statetest.Encode(f, run))
	}
	for _, s := range []string{"", "{}", "null", "[]", `{"schema":1}`, `{"schema":2}`, `{"schema":3}`, `{"schema":4}`, `{"schema":5}`, `{"schema":6}`, `{"schema":7}`, `{"schema":8}`, `{"schema":9}`, `{"schema":1e0}`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := state.Decode(data)
		if err != nil {
			var invalid *state.FileError
			assert.Assert(t, errors.As(err, &invalid), "got error %v, want a FileError", err)
			return
		}
		first := statetest.Encode(t, run)
		again, err := state.Decode(first)
		assert.NilError(t, err, "its own encoding is refused:\n%s", first)
		second := statetest.Encode(t, again)
		assert.Assert(t, bytes.Equal(first, second), "encoded twice: got\n%s\nwant\n%s", second, first)
		continueRun(t, run)
	})
}

// continueRun resumes an accepted run, starts its agents, and checks that the run stays valid.
func continueRun(t *testing.T, run *state.Run) {
	t.Helper()
	if run.Progress.Status == state.Completed {
		return
	}
	before := statetest.Encode(t, run)
	step := run.Step(statetest.Epoch.Add(time.Hour))
	step.Resume(nil)
	starts := 0
	for a, ok := step.Schedule().Next(starts); ok && starts < 8; a, ok = step.Schedule().Next(starts) {
		starts++
		st := &protocol.State{Name: a.State, Kind: protocol.Script}
		step.Start(a.ID, state.Launch{State: st, Cwd: statetest.Abs("/d")})
	}
	if starts == 0 {
		step.Close(step.Closing(&state.Stop{Status: state.Suspended, Reason: "test"}))
	}
	next := run.With(step.Delta())
	assert.NilError(t, next.Validate(), "opened:\n%s", before)
	assert.Assert(t, bytes.Equal(before, statetest.Encode(t, run)), "opening the run changed it")
}

// goodRun returns the JSON of a valid run that uses most fields.
func goodRun(t *testing.T) map[string]any {
	t.Helper()
	run := statetest.NewRun()
	run.Options.Timeout = state.Duration(time.Minute)
	run.Used = []string{"A.md"}
	session := &state.Session{ID: "s-1", Model: "m"}
	run.Agents = []*state.Agent{
		{
			ID: "main", N: 1, State: "A.md", Status: state.Busy, Session: session, Dir: statetest.Abs("/d"),
			Stack: []state.Frame{{State: "B.md", Session: session, Dir: statetest.Abs("/e")}},
			Exec: &state.Exec{
				Iteration: 1, Attempt: 1, Phase: state.PhaseAgent, Started: statetest.Epoch,
				Running: &state.Invocation{N: 2, Mode: state.Branch, SessionID: "s-2", From: "s-1"},
			},
		},
		{
			ID: "main_b1", N: 2, Parent: "main", State: "B.md", Status: state.Stuck, Vars: map[string]string{"k": "v"},
			Failure: &state.AgentFailure{Class: "fatal", Message: "no"},
			Exec:    &state.Exec{Iteration: 2, Attempt: 1, Phase: state.PhaseAgent, Started: statetest.Epoch, Session: session, Reminder: "again"},
		},
	}
	asks := &state.Question{Number: 1, Text: "Shall I?", Choices: []string{"yes", "no"}, TimeoutNext: "C.md", Token: strings.Repeat("0a", 16), Comment: 7}
	run.Agents = append(run.Agents,
		&state.Agent{
			ID: "main_b3", N: 4, Parent: "main", State: "B.md", Status: state.Waiting,
			Waits: &state.WaitCondition{For: state.ForAnswer, Since: statetest.Epoch, Until: statetest.Epoch.Add(time.Hour), Question: asks},
		},
		&state.Agent{
			ID: "main_b3_c1", N: 5, Parent: "main_b3", State: "C.md", Status: state.Waiting, Handovers: 1,
			Waits: &state.WaitCondition{For: state.ForJob, Since: statetest.Epoch, Job: "publish"},
		},
		&state.Agent{
			ID: "main_b4", N: 6, Parent: "main", State: "C.md", Status: state.Waiting,
			Waits: &state.WaitCondition{For: state.ForTime, Since: statetest.Epoch, Until: statetest.Epoch.Add(time.Hour)},
		})
	for _, a := range run.Agents {
		a.By, a.Visits = "script S.sh", map[string]int{a.State: 2, "S.sh": 3}
	}
	run.Last = &state.LastConversation{Session: session, Dir: statetest.Abs("/d")}
	run.Ended = []state.Ending{{Agent: "main_b2", Result: "x", Parent: "main", N: 3}}
	run.Ledger = []state.LedgerEntry{{N: 1, Agent: "main", State: "A.md", Kind: state.Exact, CostUSD: 5}, {N: 2, Agent: "main", State: "A.md", Kind: state.Unknown}}
	run.Progress = state.Progress{Status: state.Running, Started: statetest.Epoch, Created: 6, Launches: 3, Iterations: 2, TotalUSD: 5, LastBegun: 1, Questions: 1, HasJoin: true}
	data := statetest.Encode(t, run)
	_, err := state.Decode(data)
	assert.NilError(t, err, "the good run: %v", err)
	var v map[string]any
	assert.NilError(t, json.Unmarshal(data, &v))
	return v
}

// setPath sets the value at a path in v, for example at agents[0].stack[0].state.
func setPath(t *testing.T, v any, path string, value any) {
	t.Helper()
	at := strings.LastIndexAny(path, ".[")
	key := strings.Trim(path[at+1:], "]")
	for _, p := range append(places(v, ""), place{value: v}) {
		if p.path != path[:max(at, 0)] {
			continue
		}
		switch in := p.value.(type) {
		case map[string]any:
			in[key] = value
			return
		case []any:
			n, err := strconv.Atoi(key)
			assert.NilError(t, err)
			in[n] = value
			return
		}
	}
	t.Fatalf("nothing at %s", path)
}

// badFields lists changes that make a valid run invalid: a field gets a wrong type or form, or contradicts
// another field.
var badFields = []struct {
	path  string
	value any
	field string // path of the field that the error names; "" means the same as path
}{
	{"schema", 0, ""}, {"schema", state.Schema + 1, ""}, {"schema", "1", ""}, {"options.unheard_of", 1, ""}, {"progress.Status", "running", ""},
	{"created", "yesterday", ""}, {"created", "0001-01-01T00:00:00Z", ""}, {"options.max_retries", 1.5, ""}, {"options.timeout", "x", ""},
	{"options.budget_usd", -1, ""}, {"options.budget_usd", "1", ""}, {"options.budget_usd", 1e30, ""}, {"options.max_parallel", 0, ""},
	{"agents", map[string]any{}, ""}, {"agents[0]", "main", ""}, {"agents[1].vars.k", 7, ""}, {"agents[1].payload", map[string]any{"base64": "%"}, ""},
	{"events", "none", ""}, {"events[0]", map[string]any{"type": "unheard_of"}, ""},

	{"workflow_id", "A", ""}, {"workflow_id", "", ""}, {"workflow_id", "../x", ""}, {"workflow_id", "-x", ""}, {"workflow_id", strings.Repeat("x", 65), ""},
	{"mark", "short", ""}, {"mark", "0123456789abcdef.1", ""}, {"scope", "rel/path", ""}, {"dir", "", ""}, {"agents[0].stack[0].dir", "rel", ""},
	{"entry", "a/b.md", ""}, {"entry", "..", ""}, {"agents[0].state", "a\x00b", ""}, {"agents[0].stack[0].state", "/etc/passwd", ""},
	{"files", map[string]any{"A.md": "zz"}, "files.A.md"}, {"files", map[string]any{"A.md": strings.Repeat("ab", 31)}, "files.A.md"},
	{"progress.status", "asleep", ""}, {"agents[0].status", "idle", ""}, {"agents[0].exec.phase", "dream", ""}, {"agents[0].exec.running.mode", "steal", ""},
	{"ledger[0].kind", "guess", ""}, {"agents[2].waits.for", "rain", ""}, {"agents[0].id", "Main", ""}, {"options.agent", "other", ""},
	{"agents[0].by", "root x", ""}, {"agents[0].by", "", ""}, {"agents[0].by", "person a\x00b", ""}, {"agents[3].waits.job", "no job", ""},
	{"agents[0].session.id", "../../x", ""}, {"agents[0].session.id", "", ""}, {"agents[0].session.cli_id", ".hidden", ""},
	{"agents[0].session.id", strings.Repeat("x", 129), ""}, {"agents[2].waits.question.token", "x", ""}, {"last.session.id", "/", ""},

	{"entry", "Z.md", "files"}, {"files", map[string]any{"A.md": strings.Repeat("ab", 32), "x/y.md": strings.Repeat("ab", 32)}, ""},
	{"progress.status", "completed", ""}, {"progress.created", 5, ""}, {"progress.total_usd", 4, ""},
	{"agents[0].id", "main_b1", "agents[1].id"}, {"agents[0].id", "main_b2", ""}, {"agents[1].n", 1, ""}, {"agents[1].n", 7, ""},
	{"ended[0].agent", "main_b1", "agents[1].id"}, {"ended[0].error", "no", ""}, {"ended[0].parent", "main_b4", ""}, {"agents[0].parent", "main_b3", ""},
	{"agents[0].visits", map[string]any{"S.sh": 1}, ""}, {"agents[0].visits", map[string]any{"A.md": 1, "../x": 1}, "agents[0].visits.../x"},
	{"agents[0].exec", nil, ""}, {"agents[0].exec.reminder", "x", "agents[0].exec.session"}, {"agents[1].branch", true, ""},
	{"agents[0].exec.running.session_id", "a/b", ""}, {"agents[0].exec.running.from", "", ""},
	{"agents[0].status", "failed", "agents[0].failure"}, {"agents[1].status", "waiting", "agents[1].failure"}, {"agents[2].status", "ready", "agents[2].waits"},
	{"agents[2].waits.for", "agents", "agents[2].waits.question"}, {"agents[2].waits.until", "0001-01-01T00:00:00Z", "agents[2].waits.question.timeout_next"},
	{"agents[2].waits.question.number", 2, ""}, {"agents[2].waits.job", "publish", ""}, {"agents[3].waits.job", "", ""}, {"agents[4].waits.until", "0001-01-01T00:00:00Z", ""},
}

// TestBadFieldsAreNamed checks that Decode rejects each change in badFields with an error that names the
// field.
func TestBadFieldsAreNamed(t *testing.T) {
	for _, c := range badFields {
		v := goodRun(t)
		if c.path == "events[0]" {
			v["events"] = []any{nil}
		}
		setPath(t, v, c.path, c.value)
		data, err := json.Marshal(v)
		assert.NilError(t, err)
		_, err = state.Decode(data)
		var invalid *state.FileError
		if want := cmp.Or(c.field, c.path); !errors.As(err, &invalid) || invalid.Field != want || invalid.What == "" {
			t.Errorf("%s = %v: got %v, want a FileError at %s", c.path, c.value, err, want)
		}
	}
}

// TestHugeStateFilesAreNotDecoded checks that Decode rejects a file of 16 MiB that would need gigabytes of
// memory.
func TestHugeStateFilesAreNotDecoded(t *testing.T) {
	_, err := state.Decode([]byte(`{"schema":10,"agents":[` + strings.Repeat(`{},`, 5<<20) + `{}]}`))
	var bad *state.FileError
	assert.Check(t, errors.As(err, &bad), "got %v, want an error of the whole file", err)
	assert.Check(t, is.Equal(bad.Field, ""))
}

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

// TestFileForgetsNothing checks that every field of a run is saved in its file and read back. Because it
// fills the fields by reflection, it covers new fields as well.
func TestFileForgetsNothing(t *testing.T) {
	r := new(state.Run)
	state.Fill(reflect.ValueOf(r).Elem())
	r.Schema = state.Schema
	data := statetest.Encode(t, r)
	got, err := state.Decode(data)
	assert.Assert(t, got != nil, "Decode: %v\n%s", err, data)
	assert.Check(t, is.DeepEqual(got, r, cmpopts.IgnoreUnexported(state.Run{})), "read -, saved +")
}

// TestRelocateMovesEveryDirectory checks that Relocate converts all paths in a run. It searches the whole
// state file for the old path, so it also covers new fields.
func TestRelocateMovesEveryDirectory(t *testing.T) {
	run := statetest.NewRun()
	run.Scope, run.Dir = statetest.Abs("/old/flow"), statetest.Abs("/old")
	a := run.Agents[0]
	a.Dir, a.Payload = statetest.Abs("/old/tree"), "text that names /old"
	a.Stack = []state.Frame{{State: "A.md", Dir: statetest.Abs("/old/tree/sub")}, {State: "A.md"}}
	before := string(statetest.Encode(t, run))
	moved, err := run.Relocate(func(path string) string { return strings.Replace(path, "old", "new", 1) })
	assert.NilError(t, err)
	want := strings.ReplaceAll(strings.ReplaceAll(before, "old", "new"), "names /new", "names /old")
	assert.Check(t, is.Equal(string(statetest.Encode(t, moved)), want))
	equal(t, "the run itself", string(statetest.Encode(t, run)), before)
}
