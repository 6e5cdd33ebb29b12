// Package statetest contains the runs that the tests of state and state/journal use.
package statetest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Epoch is the time at which the run that NewRun returns was created.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// FullCLI describes an agent CLI that supports everything.
var FullCLI = state.CLI{Name: protocol.BackendClaude, AcceptsSessionID: true}

// Abs makes a path absolute. On Windows, the result has a drive letter.
func Abs(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return abs
}

// NewRun returns a run whose workflow has the prompts A, B and C and the script S.
func NewRun() *state.Run {
	files := map[string]string{}
	for _, name := range []string{"A.md", "B.md", "C.md", "S.sh"} {
		files[name] = strings.Repeat("ab", 32)
	}
	return state.New(state.Run{
		WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: Abs("/w"), Entry: "A.md", Dir: Abs("/d"), Files: files,
		Options: state.Options{
			BudgetUSD: 10 * state.Dollar, MaxParallel: 3, MaxAgents: 20, MaxDepth: 4,
			MaxRetries: 2, MaxReminders: 2, PermissionMode: "acceptEdits",
		},
	}, "in", Epoch)
}

// StateOf returns a state without a policy. It is a script if the name ends in .sh, and otherwise a prompt.
func StateOf(name string) *protocol.State {
	kind := protocol.Prompt
	if strings.HasSuffix(name, ".sh") {
		kind = protocol.Script
	}
	return &protocol.State{Name: name, Kind: kind}
}

// Encode returns the content of the run's state file.
func Encode(tb testing.TB, run *state.Run) []byte {
	tb.Helper()
	data, err := run.Encode()
	assert.NilError(tb, err)
	return data
}

// Walker makes random steps of the run that NewRun returns. All of them are allowed.
type Walker struct {
	Rand *rand.Rand
	Text string // part of the texts that agents, agent CLIs and models return

	now time.Time // time of the last step
	ids int       // number of ids of conversations that have been assigned
}

// Step returns a random step. The run begins or resumes, or an invocation ends; then agents start.
func (w *Walker) Step(r *state.Run) *state.Delta {
	if w.now.IsZero() {
		w.now = Epoch
	}
	w.now = w.now.Add(time.Duration(w.Rand.IntN(5000)) * time.Millisecond)
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
	case w.Rand.IntN(12) == 0:
		s.Resume(nil)
	case w.Rand.IntN(12) == 0:
		return s.Delta() // a step without an event, as after RecordProgress
	case len(busy) > 0:
		id := busy[w.Rand.IntN(len(busy))]
		a, _ := s.Agent(id)
		s.End(id, StateOf(a.State), w.outcome(a))
		busy = busy[1:]
	}
	// Agents start until MaxParallel agents are running.
	for running := len(busy); ; running++ {
		a, ok := s.Schedule().Next(running)
		if !ok {
			return s.Delta()
		}
		st := StateOf(a.State)
		l := state.Launch{State: st, Plan: a.Plan(st, FullCLI), Cwd: Abs("/d")}
		if l.Plan.Mode == state.Resume {
			l.SessionID, l.Length = l.Plan.Session.ID, new(int64(w.Rand.IntN(100)))
		} else if l.Plan.Mode != "" {
			w.ids++
			l.SessionID = fmt.Sprintf("session-%d", w.ids)
		}
		s.Start(a.ID, l)
	}
}

// outcome returns a random outcome for an invocation of the agent.
func (w *Walker) outcome(a *state.Agent) state.Outcome {
	o := state.Outcome{Turns: 1, Cost: state.Cost{Kind: state.Exact, USD: state.USD(w.Rand.IntN(1e8))}}
	o.Cost.Usage = []state.ModelCost{
		{Usage: state.Usage{Model: []string{"opus", "haiku", "sonnet" + w.Text}[w.Rand.IntN(3)]}, CostUSD: o.Cost.USD / 2},
	}
	names := []string{"A.md", "B.md", "C.md", "S.sh"}
	to := names[w.Rand.IntN(len(names))]
	switch w.Rand.IntN(14) {
	case 0:
		o.Failure = &state.Failure{Class: state.Transient, Message: "down" + w.Text}
	case 1:
		o.Failure = &state.Failure{Class: state.Fatal, Message: "no"}
	case 2:
		o.Failure, o.Cost = &state.Failure{Class: state.Stopped, Message: "cancelled"}, state.Cost{}
	case 3:
		o.Problems, o.Reminder = []protocol.Problem{{Code: "no-tag", Message: "no tag"}}, "again"
	case 4, 5:
		o.Decision = protocol.Decision{
			Spawns: []protocol.Spawn{{State: to, Next: "B.md", Vars: map[string]string{"k": a.ID + w.Text}}},
			Then:   protocol.Move{Verb: protocol.Goto, To: "B.md"},
		}
	default:
		verbs := []protocol.Verb{protocol.Goto, protocol.Reset, protocol.Call, protocol.Function, protocol.Result}
		verb := verbs[w.Rand.IntN(len(verbs))]
		o.Decision.Then = protocol.Move{Verb: verb, To: to, Return: "C.md", Input: "x\xff" + w.Text, Text: "r" + w.Text}
		if verb == protocol.Result {
			o.Decision.Then.To = ""
		}
	}
	return o
}
