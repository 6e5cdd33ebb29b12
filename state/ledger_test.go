package state_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

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

// TestParseUSD checks which texts ParseUSD accepts, and the amounts that it returns.
func TestParseUSD(t *testing.T) {
	for text, want := range map[string]state.USD{
		"0": 0, "0.0": 0, "10": 10 * state.Dollar, "10.00": 10 * state.Dollar, "0.25": state.Dollar / 4,
		"0.000000001": 1, "0.0000000004": 0, "0.0000000005": 1, "0.9999999999": state.Dollar,
		"1000000000": 1e18, "1e3": 1000 * state.Dollar, "1.5e-3": 1_500_000, "2E+2": 200 * state.Dollar,
		"0.1": state.Dollar / 10, "0.3": 3 * state.Dollar / 10, "0.00450": 4_500_000,
	} {
		if got, err := state.ParseUSD(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " ", "NaN", "Inf", "-1", "-0", "+1", "010", "00", "0x10", "1_0", " 1", "1 ", "1.", ".5", "1.2.3", "1e", "e1",
		"1e31", "1e400", "1e-31", "1e0x1", "1000000000.1", "99999999999", "1,5", "$1", "null", "\"1\"", "١", "1/2", "1e1e1",
	} {
		got, err := state.ParseUSD(text)
		assert.Check(t, err != nil, "%q: got %s, want an error", text, got)
	}
}

// FuzzUSD checks that an amount that ParseUSD accepts is in the allowed range, and that reading its text
// and its JSON form returns the same amount.
func FuzzUSD(f *testing.F) {
	for _, s := range []string{"0", "10.00", "0.000000001", "1e3", "1000000000", "1.5e-3", "0x1p3", "010", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := state.ParseUSD(text)
		if err != nil {
			return
		}
		again, err := state.ParseUSD(u.String())
		if err != nil || again != u || u < 0 || u > 1e18 || strings.ContainsAny(u.String(), "eE-") {
			t.Errorf("%q: got %d, printed as %q, read again as %d (%v)", text, u, u, again, err)
		}
		data, err := json.Marshal(u)
		if err != nil || json.Unmarshal(data, &again) != nil || again != u {
			t.Errorf("%q: got %d, as JSON %s (%v), read again as %d", text, u, data, err, again)
		}
	})
}
