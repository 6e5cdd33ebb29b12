package state_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// randomRunFile returns the content of the state file of a run after the given number of random steps.
func randomRunFile(tb testing.TB, seed uint64, steps int) []byte {
	tb.Helper()
	w := &statetest.Walker{Rand: rand.New(rand.NewPCG(seed, 3))}
	run := statetest.NewRun()
	for range steps {
		next := run.With(w.Step(run))
		if len(next.Agents) == 0 {
			break
		}
		run = next
	}
	return statetest.Encode(tb, run)
}

// FuzzDecode checks that no input makes Decode panic. A run that Decode accepts must be valid, must not
// change if it is encoded and decoded again, and must be able to continue.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomRunFile(f, seed, 4*int(seed)))
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
