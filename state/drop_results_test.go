package state_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// dispatcher drives a run whose main agent forks one worker after the other. Unlike play, it does not
// validate the run after each step, because that would take too long.
type dispatcher struct{ *play }

// step makes one step and applies it to the run.
func (d dispatcher) step(f func(*state.Step)) {
	step := d.run.Step(d.now)
	f(step)
	d.run.Apply(step.Delta())
}

// launch starts and ends one invocation of an agent.
func (d dispatcher) launch(id string, o state.Outcome) {
	d.step(func(s *state.Step) {
		a, _ := s.Agent(id)
		st := d.state(a.State)
		s.Start(id, state.Launch{State: st, Plan: state.Plan{Mode: state.Fresh}, SessionID: "s", Cwd: statetest.Abs("/d")})
		s.End(id, st, o)
	})
}

// fork makes an agent fork a worker, which ends immediately.
func (d dispatcher) fork(parent, target string, c state.Cost) {
	d.t.Helper()
	spawn := protocol.Spawn{State: target, Next: "A.md"}
	d.launch(parent, state.Outcome{Cost: c, Decision: protocol.Decision{Spawns: []protocol.Spawn{spawn}, Then: goTo("A.md")}})
	id := d.run.Agents[len(d.run.Agents)-1].ID
	d.launch(id, state.Outcome{Cost: c, Decision: protocol.Decision{Then: result("result of " + id)}})
}

// newDispatcher begins a run without a budget, in which at most two agents exist at the same time.
func newDispatcher(t *testing.T) dispatcher {
	return dispatcher{newPlay(t, func(o *state.Options) { o.BudgetUSD, o.MaxAgents = 0, 2 })}
}

// TestEndlessDispatcher checks that only the most recent results are kept, but that all agents and costs are
// counted.
func TestEndlessDispatcher(t *testing.T) {
	d := newDispatcher(t)
	for n := range 3000 {
		d.fork("main", "B.md", cost(1))
		if n%500 == 499 {
			assert.NilError(t, d.run.Validate())
		}
	}
	equal(t, "cost", d.run.Progress.TotalUSD, state.USD(6000))
	equal(t, "agents", []int{d.run.Progress.Created, len(d.run.Ended) + d.run.Forgotten}, []int{3001, 3000})
	if n := len(d.run.Ended); n < 1000 || n > 1250 {
		t.Errorf("results kept: got %d, want about the last thousand", n)
	}
	last := d.run.Ended[len(d.run.Ended)-1]
	equal(t, "the last", last, state.Ending{Agent: "main_b3000", Result: "result of main_b3000", Parent: "main", N: 3001})
}

// TestResultOfTheRunIsKept checks that the result of main is kept even if main ended before all other agents.
func TestResultOfTheRunIsKept(t *testing.T) {
	d := newDispatcher(t)
	spawns := []protocol.Spawn{{State: "B.md", Next: "A.md"}}
	d.launch("main", state.Outcome{Cost: cost(1), Decision: protocol.Decision{Spawns: spawns, Then: goTo("A.md")}})
	d.launch("main", moveOutcome(1, result("the result")))
	for range 1300 {
		d.fork("main_b1", "C.md", cost(1))
	}
	text, ok := d.run.Result()
	equal(t, "result, agents forgotten", []any{string(text), ok, d.run.Forgotten > 0}, []any{"the result", true, true})
}
