package state_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestFileForgetsNothing checks that every field of a run is saved in its file and read back. Because it
// fills the fields by reflection, it covers new fields as well.
func TestFileForgetsNothing(t *testing.T) {
	r := new(state.Run)
	state.Fill(reflect.ValueOf(r).Elem())
	r.Schema = state.Schema
	data := fileOf(t, r)
	got, err := state.Decode(data)
	assert.Assert(t, got != nil, "Decode: %v\n%s", err, data)
	assert.Check(t, is.DeepEqual(got, r, cmpopts.IgnoreUnexported(state.Run{})), "read -, saved +")
}

// newRun returns a run whose workflow has the prompts A, B and C and the script S.
func newRun() *state.Run {
	files := map[string]string{}
	for _, name := range []string{"A.md", "B.md", "C.md", "S.sh"} {
		files[name] = strings.Repeat("ab", 32)
	}
	return state.New(state.Run{
		WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: state.Abs("/w"), Entry: "A.md", Dir: state.Abs("/d"), Files: files,
		Options: state.Options{
			BudgetUSD: 10 * state.Dollar, MaxParallel: 3, MaxAgents: 20, MaxDepth: 4,
			MaxRetries: 2, MaxReminders: 2, PermissionMode: "acceptEdits",
		},
	}, "in", epoch)
}

// stateOf returns a state without a policy. It is a script if the name ends in .sh, and otherwise a prompt.
func stateOf(name string) *protocol.State {
	kind := protocol.Prompt
	if strings.HasSuffix(name, ".sh") {
		kind = protocol.Script
	}
	return &protocol.State{Name: name, Kind: kind}
}

// walker makes random steps of a run. All of them are allowed.
type walker struct {
	rnd  *rand.Rand
	now  time.Time
	ids  int
	text string // part of the texts that agents, agent CLIs and models return
}

// step returns a random step. The run begins or resumes, or an invocation ends; then agents start.
func (w *walker) step(r *state.Run) *state.Delta {
	w.now = w.now.Add(time.Duration(w.rnd.IntN(5000)) * time.Millisecond)
	s := r.Step(w.now)
	busy := []string{}
	for _, a := range r.Agents {
		if a.Status == state.Busy && a.Exec.Running != nil {
			busy = append(busy, a.ID)
		}
	}
	switch {
	case r.Progress.Seq == 0:
		s.Begin()
	case w.rnd.IntN(12) == 0:
		s.Resume(nil)
	case w.rnd.IntN(12) == 0:
		return s.Delta() // a step without an event, as after RecordProgress
	case len(busy) > 0:
		id := busy[w.rnd.IntN(len(busy))]
		a, _ := s.Agent(id)
		s.End(id, stateOf(a.State), w.outcome(a))
		busy = busy[1:]
	}
	w.start(s, len(busy))
	return s.Delta()
}

// start starts agents until MaxParallel agents are running. busy is the number of agents that are already
// running.
func (w *walker) start(s *state.Step, busy int) {
	for {
		a, ok := s.Next(busy)
		if !ok {
			return
		}
		st := stateOf(a.State)
		l := state.Launch{State: st, Plan: a.Plan(st, fullCLI), Cwd: state.Abs("/d")}
		if l.Plan.Mode == state.Resume {
			l.SessionID, l.Length = l.Plan.Session.ID, new(int64(w.rnd.IntN(100)))
		} else if l.Plan.Mode != "" {
			w.ids++
			l.SessionID = fmt.Sprintf("session-%d", w.ids)
		}
		s.Start(a.ID, l)
		busy++
	}
}

// outcome returns a random outcome for an invocation of the agent.
func (w *walker) outcome(a *state.Agent) state.Outcome {
	o := state.Outcome{Turns: 1, Cost: state.Cost{Kind: state.Exact, USD: state.USD(w.rnd.IntN(1e8))}}
	o.Cost.Usage = []state.ModelCost{
		{Usage: state.Usage{Model: []string{"opus", "haiku", "sonnet" + w.text}[w.rnd.IntN(3)]}, CostUSD: o.Cost.USD / 2},
	}
	names := []string{"A.md", "B.md", "C.md", "S.sh"}
	to := names[w.rnd.IntN(len(names))]
	switch w.rnd.IntN(14) {
	case 0:
		o.Failure = &state.Failure{Class: state.Transient, Message: "down" + w.text}
	case 1:
		o.Failure = &state.Failure{Class: state.Fatal, Message: "no"}
	case 2:
		o.Failure, o.Cost = &state.Failure{Class: state.Stopped, Message: "cancelled"}, state.Cost{}
	case 3:
		o.Problems, o.Reminder = []protocol.Problem{{Code: "no-tag", Message: "no tag"}}, "again"
	case 4, 5:
		o.Decision = protocol.Decision{
			Spawns: []protocol.Spawn{{State: to, Next: "B.md", Vars: map[string]string{"k": a.ID + w.text}}},
			Then:   protocol.Move{Verb: protocol.Goto, To: "B.md"},
		}
	default:
		verbs := []protocol.Verb{protocol.Goto, protocol.Reset, protocol.Call, protocol.Function, protocol.Result}
		verb := verbs[w.rnd.IntN(len(verbs))]
		o.Decision.Then = protocol.Move{Verb: verb, To: to, Return: "C.md", Input: "x\xff" + w.text, Text: "r" + w.text}
		if verb == protocol.Result {
			o.Decision.Then.To = ""
		}
	}
	return o
}

// TestFilesEqualMemory makes random steps. After each step it checks that the run that is read from snapshot
// and journal is valid and equals the run in memory. It also checks that no step changes an earlier run or
// earlier entries of the ledger, and that no two agents have the same name.
func TestFilesEqualMemory(t *testing.T) {
	for seed := range uint64(walks) {
		walk(t, seed)
	}
}

// walk makes one series of random steps for TestFilesEqualMemory.
func walk(t *testing.T, seed uint64) {
	t.Helper()
	names := map[string]bool{}
	var before [][]byte
	r := record(t, seed, 60, state.DefaultHistory, func(dir string, run, next *state.Run) {
		for _, e := range next.Events {
			if _, begins := e.Body.(*state.AgentStarted); begins && len(before) > 0 && names[e.Agent] {
				t.Fatalf("seed %d step %d: the name %s comes twice", seed, next.Progress.Seq, e.Agent)
			}
			names[e.Agent] = true
		}
		assert.Assert(t, is.DeepEqual(next.Ledger[:len(run.Ledger)], run.Ledger, cmpopts.EquateEmpty()), "seed %d step %d: the ledger was changed", seed, next.Progress.Seq)
		got, err := state.Read(dir, "run-1")
		assert.NilError(t, err)
		assert.Equal(t, diffRuns(t, next, got), "", "seed %d step %d: memory -, files +", seed, next.Progress.Seq)
		before = append(before, fileOf(t, next))
	})
	for i, data := range before {
		assert.Assert(t, bytes.Equal(fileOf(t, r.runs[i+1]), data), "seed %d: run %d was changed later", seed, i+1)
	}
}

// savedDir returns a directory with one saved run.
func savedDir(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	f, err := state.Create(dir, "run-1", "me")
	assert.NilError(t, err)
	assert.NilError(t, f.WriteSnapshot(newRun(), nil, nil))
	assert.NilError(t, f.Close())
	return dir
}

// TestRunHasOneOwner checks that no second process can open a run before the first one closes it, and that no
// second run can be created with the same id.
func TestRunHasOneOwner(t *testing.T) {
	dir := savedDir(t)
	f, _, err := state.Open(dir, "run-1", "the first")
	assert.NilError(t, err)
	if info, err := os.Stat(filepath.Join(dir, "run-1.lock")); err != nil || info.Size() > 0 {
		t.Errorf("the locked file, which can't be written on Windows: got %v, %v, want it empty", info, err)
	}
	var locked *state.LockedError
	if _, _, err := state.Open(dir, "run-1", "the second"); !errors.As(err, &locked) || !strings.Contains(locked.Error(), "the first") {
		t.Errorf("second Open: %v, want LockedError by the first", err)
	}
	assert.NilError(t, f.Close())
	if _, err := os.Stat(filepath.Join(dir, "run-1.holder")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the holder file after the lock was released: got %v, want it gone", err)
	}
	if _, err := state.Create(dir, "run-1", "me"); !errors.Is(err, state.ErrExists) {
		t.Errorf("Create: %v, want ErrExists", err)
	}
	assert.NilError(t, os.Remove(filepath.Join(dir, "run-1.json")))
	f, err = state.Create(dir, "run-1", "me")
	// The lock file still exists, but no process holds the lock.
	assert.NilError(t, err)
	assert.NilError(t, f.Close())
}
