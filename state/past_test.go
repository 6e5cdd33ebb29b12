package state_test

import (
	"slices"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// dispatcher is a run whose first agent forks one worker after the other; steps are
// not checked one by one, which would take longer than all else.
type dispatcher struct{ *play }

func (d dispatcher) step(f func(*state.Step)) {
	step := d.run.Step(d.now)
	f(step)
	d.run.Apply(step.Delta())
}

// launch runs one invocation of an agent.
func (d dispatcher) launch(id string, o state.Outcome) {
	d.step(func(s *state.Step) {
		a, _ := s.Agent(id)
		st := d.state(a.State)
		s.Start(id, state.Launch{State: st, Plan: state.Plan{Mode: state.Fresh}, SessionID: "s", Cwd: state.Abs("/d")})
		s.End(id, st, o)
	})
}

// fork has an agent fork a worker that ends at once.
func (d dispatcher) fork(parent, target string, c state.Cost) {
	d.t.Helper()
	spawn := protocol.Spawn{State: target, Next: "A.md"}
	d.launch(parent, state.Outcome{Cost: c, Decision: protocol.Decision{Spawns: []protocol.Spawn{spawn}, Then: goTo("A.md")}})
	id := d.run.Agents[len(d.run.Agents)-1].ID
	d.launch(id, state.Outcome{Cost: c, Decision: protocol.Decision{Then: result("result of " + id)}})
}

func newDispatcher(t *testing.T) dispatcher {
	return dispatcher{newPlay(t, func(o *state.Options) { o.BudgetUSD, o.MaxAgents = 0, 2 })}
}

func (d dispatcher) size() int {
	d.t.Helper()
	data, err := d.run.Encode()
	must(d.t, err)
	return len(data)
}

// TestAnEndlessDispatcher: its state file stops growing, and counts and costs stay
// what they were.
func TestAnEndlessDispatcher(t *testing.T) {
	d := newDispatcher(t)
	share := func(usd state.USD) state.Cost {
		m := state.ModelCost{Usage: state.Usage{Model: "m", Input: 10}, CostUSD: usd}
		return state.Cost{Kind: state.Exact, USD: usd, Usage: []state.ModelCost{m}}
	}
	want, sizes := state.USD(0), []int{}
	for n := range 3000 {
		c := share(state.USD(n + 1))
		if n%10 == 0 {
			c = state.Cost{} // unknown
		} else if n%10 == 5 {
			c.Metered = []state.Usage{{Model: "m", HasFees: true}} // unknown, but for a part
		}
		d.fork("main", "B.md", c)
		want += 2 * c.USD
		if n%500 == 499 {
			if err := d.run.Validate(); err != nil {
				t.Fatalf("after %d: %v", n+1, err)
			}
			sizes = append(sizes, d.size())
		}
	}
	if largest := slices.Max(sizes[3:]); largest > sizes[2]*5/4 {
		t.Errorf("sizes after each 500 forks: got %v, want no growth from the third on", sizes)
	}
	sum, entries, unknown, rates := state.USD(0), 0, 0, state.USD(0)
	for _, s := range d.run.Sums() {
		sum, entries = sum+s.CostUSD, entries+s.Entries
		if s.Kind == state.Unknown {
			unknown += s.Entries
		}
		for _, m := range s.Models {
			rates += m.CostUSD
		}
	}
	equal(t, "total, sum, by model", []state.USD{d.run.Progress.TotalUSD, sum, rates}, []state.USD{want, want, want})
	equal(t, "invocations, unknown", []int{entries, unknown}, []int{6000, 1200})
	equal(t, "agents", []int{d.run.Progress.Created, len(d.run.Ended) + d.run.Forgotten()}, []int{3001, 3000})
	if n := len(d.run.Ended); n < 1000 || n > 1250 {
		t.Errorf("results kept: got %d, want about the last thousand", n)
	}
	last := d.run.Ended[len(d.run.Ended)-1]
	equal(t, "the last", last, state.Ending{Agent: "main_b3000", Result: "result of main_b3000", Parent: "main", N: 3001})
	data, _ := d.run.Encode()
	again, err := state.Decode(data)
	must(t, err)
	equal(t, "sums, read again", again.Sums(), d.run.Sums())
}

// TestTheRunsResultIsKept though its agent ended first.
func TestTheRunsResultIsKept(t *testing.T) {
	d := newDispatcher(t)
	spawns := []protocol.Spawn{{State: "B.md", Next: "A.md"}}
	d.launch("main", state.Outcome{Cost: cost(1), Decision: protocol.Decision{Spawns: spawns, Then: goTo("A.md")}})
	d.launch("main", moves(1, result("the result")))
	for range 1300 {
		d.fork("main_b1", "C.md", cost(1))
	}
	text, ok := d.run.Result()
	equal(t, "result, agents forgotten", []any{string(text), ok, d.run.Forgotten() > 0}, []any{"the result", true, true})
}
