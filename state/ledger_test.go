package state_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// TestUsageIsSubtracted checks two rules of Minus. The remaining cache writes count as kept for an hour,
// up to CacheHour. If no tokens remain, the surcharge is zero.
func TestUsageIsSubtracted(t *testing.T) {
	used := state.Usage{Model: "m", Input: 5, CacheWrite: 10, CacheHour: 8, CacheRead: 3, Output: 2, Surcharge: 9, HasFees: true}
	equal(t, "less nothing", used.Minus(state.Usage{}), used)
	equal(t, "less a part", used.Minus(state.Usage{Input: 6, CacheWrite: 7, CacheRead: 3, Surcharge: 4}),
		state.Usage{Model: "m", CacheWrite: 3, CacheHour: 3, Output: 2, Surcharge: 5, HasFees: true})
	equal(t, "less all tokens", used.Minus(state.Usage{Input: 5, CacheWrite: 10, CacheRead: 3, Output: 2}), state.Usage{Model: "m"})
	equal(t, "twice", used.Plus(used), state.Usage{Model: "m", Input: 10, CacheWrite: 20, CacheHour: 16, CacheRead: 6, Output: 4, Surcharge: 18, HasFees: true})
}

// TestModelNamesMatchAcrossServices checks that the names that different services use for a model refer to
// the same model.
func TestModelNamesMatchAcrossServices(t *testing.T) {
	for _, same := range [][2]string{
		{"gpt-5", "gpt-5-2025-08-07"}, {"openai/gpt-5", "gpt-5"}, {"models/gemini-2.5-pro", "gemini-2.5-pro"},
	} {
		equal(t, same[0], state.SameModel(same[0], same[1]), true)
	}
	equal(t, "a part of a name", state.SameModel("gpt-5", "gpt-5-9999-99-99"), false)
}

// TestBudgetOfAnInvocation checks that running agents share the rest of the budget, and that each of them
// gets at least a cent.
func TestBudgetOfAnInvocation(t *testing.T) {
	p := newPlay(t, nil)
	p.turn("main", goTo("A.md"), protocol.Spawn{State: "B.md", Next: "A.md"})
	step := func() state.USD { return p.run.Step(p.now).InvocationBudget() }
	equal(t, "no agent runs", step(), 999*state.Dollar/100)
	p.start("main")
	equal(t, "one runs", step(), 999*state.Dollar/100)
	p.start("main_b1")
	equal(t, "two run", step(), 999*state.Dollar/200)
	p.end("main_b1", moveOutcome(9_985*state.Dollar/1000, goTo("B.md")))
	equal(t, "less than a cent is left", step(), state.Dollar/100)
	p.resume(func(o *state.Options) { o.BudgetUSD = 0 })
	equal(t, "no budget", step(), state.USD(0))
}
