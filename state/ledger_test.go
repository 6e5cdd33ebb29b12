package state_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// lost is an invocation that failed without a report; used is what its
// transcript shows.
func lost(used ...state.ModelCost) state.Outcome {
	return state.Outcome{Used: used, Failure: &state.Failure{Class: state.Transient, Message: "died"}}
}

// TestEveryProcessIsBooked: one entry each, retries, reminders and lost ones too,
// and the sum is exact. Scripts cost nothing.
func TestEveryProcessIsBooked(t *testing.T) {
	p := newPlay(t, nil)
	p.ends("main", state.Outcome{Session: "other", Cost: cost(3), Failure: &state.Failure{Class: state.Transient, Message: "x"}})
	p.ends("main", state.Outcome{Cost: cost(5), Problems: []protocol.Problem{{Message: "no tag"}}, Reminder: "again"})
	p.ends("main", moves(7, goTo("S.sh")))
	equal(t, "cost of the state", bodies[*state.StateFinished](p)[0].USD, state.USD(15))
	p.turn("main", goTo("B.md"))
	p.start("main")
	p.resume(nil)
	var got []string
	for _, e := range p.run.Ledger {
		got = append(got, fmt.Sprintf("%d %s %s %s %d", e.N, e.State, e.Session, e.Kind, e.CostUSD))
	}
	equal(t, "ledger", got, []string{
		"1 A.md other exact 3", "2 A.md s2 exact 5", "3 A.md s2 exact 7", "5 B.md s2 exact 0",
	})
	equal(t, "total", p.run.Progress.TotalUSD, state.USD(15))
}

// TestEstimates: tokens of a lost process cost what this run's exact entries for
// the model say; a model without any can't be priced.
func TestEstimates(t *testing.T) {
	usage := state.Usage{Model: "m", Input: 100, Output: 20, CacheWrite: 40, CacheRead: 1000}
	exact := func(m state.Usage, usd state.USD) state.Outcome {
		o := moves(usd, goTo("A.md"))
		o.Cost.Usage = []state.ModelCost{{Usage: m, CostUSD: usd}}
		return o
	}
	p := newPlay(t, func(o *state.Options) { o.MaxRetries = 9 })
	p.ends("main", exact(usage, 1_000_000))
	p.ends("main", exact(usage, 3_000_000))
	same := state.ModelCost{Usage: usage, CostUSD: 5} // the run's own rates win over the list's
	half := state.ModelCost{Usage: state.Usage{Model: "m", Input: 50, Output: 10, CacheWrite: 20, CacheRead: 500}}
	output := state.ModelCost{Usage: state.Usage{Model: "m[1m]", Output: 1}}
	listed := state.ModelCost{Usage: state.Usage{Model: "n", Input: 1}, CostUSD: 77}
	nobodys := state.ModelCost{Usage: state.Usage{Model: "o", Input: 1}}
	for _, c := range []struct {
		name string
		used []state.ModelCost
		kind state.CostKind
		want state.USD
	}{
		{"the same again", []state.ModelCost{same}, state.Estimated, 2_000_000},
		{"half of it", []state.ModelCost{half}, state.Estimated, 1_000_000},
		// An exact entry is 2000 + 2000 + 1000 + 2000 units for 2,000,000.
		{"output alone", []state.ModelCost{output}, state.Estimated, 28571},
		{"a model of the list", []state.ModelCost{listed}, state.Estimated, 77},
		{"another model", []state.ModelCost{nobodys}, state.Unknown, 0},
		{"one of two known", []state.ModelCost{same, nobodys}, state.Estimated, 2_000_000},
		{"nothing to go by", nil, state.Unknown, 0},
	} {
		p.ends("main", lost(c.used...))
		p.now = p.agent("main").NotBefore
		last := p.run.Ledger[len(p.run.Ledger)-1]
		equal(t, c.name, []any{last.Kind, last.CostUSD}, []any{c.kind, c.want})
	}
	p.start("main")
	p.do(func(s *state.Step) { s.NoteProgress("main", []state.Usage{half.Usage}, "") })
	equal(t, "noted before the crash", p.agent("main").Exec.Running.Metered, []state.Usage{half.Usage})
	p.resume(nil, half)
	last := p.run.Ledger[len(p.run.Ledger)-1]
	equal(t, "after a crash", []any{last.Kind, last.CostUSD}, []any{state.Estimated, state.USD(1_000_000)})
}

// TestFeesMakeTheCostUnknown, of an invocation that reports a cost and of one that was lost; what is known of it counts.
func TestFeesMakeTheCostUnknown(t *testing.T) {
	p := newPlay(t, nil)
	p.start("main")
	o := moves(5, goTo("B.md"))
	o.Cost.Metered = []state.Usage{{Model: "m", Input: 1, HasFees: true}}
	p.end("main", o)
	p.start("main")
	p.resume(nil, state.ModelCost{Usage: state.Usage{Model: "m", Input: 1, HasFees: true}, CostUSD: 7})
	var got []string
	for _, e := range p.run.Ledger {
		got = append(got, fmt.Sprintf("%s %d", e.Kind, e.CostUSD))
	}
	equal(t, "ledger", got, []string{"unknown 5", "unknown 7"})
	equal(t, "spent", p.run.Spent(), state.Spent{USD: 12, Unknown: 2})
}

// TestWhatIsBeyondACount: the rest of what was written to the cache may be kept for an hour, and where no tokens are
// left there is no surcharge.
func TestWhatIsBeyondACount(t *testing.T) {
	used := state.Usage{Model: "m", Input: 5, CacheWrite: 10, CacheHour: 8, CacheRead: 3, Output: 2, Surcharge: 9, HasFees: true}
	equal(t, "less nothing", used.Less(state.Usage{}), used)
	equal(t, "less a part", used.Less(state.Usage{Input: 6, CacheWrite: 7, CacheRead: 3, Surcharge: 4}),
		state.Usage{Model: "m", CacheWrite: 3, CacheHour: 3, Output: 2, Surcharge: 5, HasFees: true})
	equal(t, "less all tokens", used.Less(state.Usage{Input: 5, CacheWrite: 10, CacheRead: 3, Output: 2}), state.Usage{Model: "m"})
	equal(t, "twice", used.Plus(used), state.Usage{Model: "m", Input: 10, CacheWrite: 20, CacheHour: 16, CacheRead: 6, Output: 4, Surcharge: 18, HasFees: true})
}

// unknown is an invocation of main that succeeds, moves to a state, and tells
// nothing of its cost.
func (p *play) unknown(to string) {
	p.t.Helper()
	p.ends("main", state.Outcome{Decision: protocol.Decision{Then: goTo(to)}})
}

// TestThreeUnknownInARow: three successful invocations of one agent whose cost nobody knows fail
// it, where there is a budget to keep; a known one in between starts the count anew, and those that
// died don't count. Nothing that was done is lost, and a resume continues.
func TestThreeUnknownInARow(t *testing.T) {
	p := newPlay(t, func(o *state.Options) { o.MaxRetries = 9 })
	p.unknown("B.md")
	p.unknown("B.md")
	p.turn("main", goTo("C.md"))
	p.unknown("C.md")
	for range 3 {
		p.ends("main", lost())
		p.now = p.agent("main").NotBefore
	}
	p.unknown("C.md")
	equal(t, "two in a row", p.next(0), "main")
	p.unknown("A.md")
	end := p.closed(nil)
	equal(t, "three in a row", []any{p.next(0), end.Status}, []any{"", state.Failed})
	for _, part := range []string{"agent main in state A.md", "can't be known", "a budget of 0"} {
		assert.Check(t, is.Contains(end.Reason, part), "reason")
	}
	finished := bodies[*state.StateFinished](p)
	equal(t, "states that ended well", []any{len(finished), finished[5].OK}, []any{6, true})
	p.resume(nil)
	equal(t, "resumed", []string{p.next(0), p.agent("main").State}, []string{"main", "A.md"})
	p.resume(func(o *state.Options) { o.BudgetUSD = 0 })
	p.unknown("A.md")
	equal(t, "without a budget", p.next(0), "main")

	p = newTries(t, protocol.Convergence{}, nil)
	p.run.Agents[0].Unknown = 2
	p.ends("main", state.Outcome{Decision: protocol.Decision{Then: result("r")}})
	p.try("pass")
	equal(t, "a result that ends the agent, after the verdict", len(p.run.Agents), 0)
}

// TestEstimatesAreMarked wherever the budget is spoken of.
func TestEstimatesAreMarked(t *testing.T) {
	for kind, mark := range map[state.CostKind]string{state.Exact: "", state.Estimated: "~"} {
		p := newPlay(t, nil)
		p.ends("main", state.Outcome{Cost: state.Cost{Kind: kind, USD: 9 * state.Dollar}, Decision: protocol.Decision{Then: goTo("A.md")}})
		p.ends("main", moves(2*state.Dollar, goTo("A.md")))
		equal(t, "reason", p.closed(nil).Reason, "spent "+mark+"$11 of a budget of $10")
		equal(t, "warning", bodies[*state.Limit](p)[0].Spent().String(), mark+"$9.00")
	}
}
