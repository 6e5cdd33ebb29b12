package state_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// lost is an invocation that failed without a report; used is what its
// transcript shows.
func lost(used ...state.Usage) state.Outcome {
	return state.Outcome{Used: used, Failure: &state.Failure{Class: state.Transient, Message: "died"}}
}

// TestEveryProcessIsBooked: one entry each, retries, reminders and lost ones too,
// and the sum is exact. Scripts cost nothing.
func TestEveryProcessIsBooked(t *testing.T) {
	p := newPlay(t, nil)
	p.start("main")
	p.end("main", state.Outcome{Session: "other", Cost: cost(3), Failure: &state.Failure{Class: state.Transient, Message: "x"}})
	p.start("main")
	p.end("main", state.Outcome{Cost: cost(5), Problems: []protocol.Problem{{Message: "no tag"}}, Reminder: "again"})
	p.start("main")
	p.end("main", state.Outcome{Cost: cost(7), Decision: protocol.Decision{Then: goTo("S.sh")}})
	equal(t, "cost of the state", bodies[*state.StateFinished](p)[0].CostUSD, state.USD(15))
	p.turn("main", goTo("B.md"))
	p.start("main")
	p.resume(nil)
	var got []string
	for _, e := range p.run.Ledger {
		got = append(got, fmt.Sprintf("%d %s %s %s %d", e.N, e.State, e.Session, e.Kind, e.CostUSD))
	}
	equal(t, "ledger", got, []string{
		"1 A.md other exact 3", "2 A.md s2 exact 5", "3 A.md s2 exact 7", "5 B.md s2 unknown 0",
	})
	equal(t, "total", p.run.Progress.TotalUSD, state.USD(15))
}

// TestEstimates: tokens of a lost process cost what this run's exact entries for
// the model say; a model without any can't be priced.
func TestEstimates(t *testing.T) {
	usage := state.Usage{Model: "m", Input: 100, Output: 20, CacheWrite: 40, CacheRead: 1000}
	exact := func(m state.Usage, usd state.USD) state.Outcome {
		o := state.Outcome{Cost: cost(usd), Decision: protocol.Decision{Then: goTo("A.md")}}
		o.Cost.Usage = []state.ModelCost{{Usage: m, CostUSD: usd}}
		return o
	}
	p := newPlay(t, func(o *state.Options) { o.MaxRetries = 9 })
	p.start("main")
	p.end("main", exact(usage, 1_000_000))
	p.start("main")
	p.end("main", exact(usage, 3_000_000))
	half := state.Usage{Model: "m", Input: 50, Output: 10, CacheWrite: 20, CacheRead: 500}
	output := state.Usage{Model: "m", Output: 1}
	for _, c := range []struct {
		name string
		used []state.Usage
		kind state.CostKind
		want state.USD
	}{
		{"the same again", []state.Usage{usage}, state.Estimated, 2_000_000},
		{"half of it", []state.Usage{half}, state.Estimated, 1_000_000},
		// An exact entry is 2000 + 2000 + 1000 + 2000 units for 2,000,000.
		{"output alone", []state.Usage{output}, state.Estimated, 100 * 2_000_000 / 7000},
		{"another model", []state.Usage{{Model: "n", Input: 1}}, state.Unknown, 0},
		{"one of two known", []state.Usage{usage, {Model: "n", Input: 1}}, state.Unknown, 0},
		{"nothing to go by", nil, state.Unknown, 0},
	} {
		p.start("main")
		p.end("main", lost(c.used...))
		p.now = p.agent("main").NotBefore
		last := p.run.Ledger[len(p.run.Ledger)-1]
		equal(t, c.name, []any{last.Kind, last.CostUSD}, []any{c.kind, c.want})
	}
	p.start("main")
	p.resume(nil, half)
	last := p.run.Ledger[len(p.run.Ledger)-1]
	equal(t, "after a crash", []any{last.Kind, last.CostUSD}, []any{state.Estimated, state.USD(1_000_000)})
}

// TestThreeUnknownInARow end a run that has a budget to keep, and no other. A
// known cost in between starts the count anew, another budget forgives it.
func TestThreeUnknownInARow(t *testing.T) {
	for _, budget := range []state.USD{state.Dollar, 0} {
		p := newPlay(t, func(o *state.Options) { o.MaxRetries, o.BudgetUSD = 9, budget })
		unknown := func() {
			p.start("main")
			p.end("main", lost())
			p.now = p.agent("main").NotBefore
		}
		unknown()
		unknown()
		p.start("main")
		p.end("main", fail(state.Transient, "known"))
		p.now = p.agent("main").NotBefore
		unknown()
		unknown()
		equal(t, "two in a row", p.next(0), "main")
		unknown()
		if budget == 0 {
			equal(t, "three in a row without a budget", p.next(0), "main")
			continue
		}
		equal(t, "three in a row", p.next(0), "")
		equal(t, "end", p.closed(nil).Status, state.OverBudget)
		p.resume(func(o *state.Options) { o.BudgetUSD *= 2 })
		equal(t, "with another budget", p.next(0), "main")
	}
}

// TestBudgetWarning: told once, above 80 %.
func TestBudgetWarning(t *testing.T) {
	p := newPlay(t, nil)
	for _, c := range []struct {
		usd  state.USD
		told int
	}{{8 * state.Dollar, 0}, {1, 1}, {state.Dollar, 1}} {
		p.start("main")
		p.end("main", state.Outcome{Cost: cost(c.usd), Decision: protocol.Decision{Then: goTo("A.md")}})
		equal(t, "warnings after "+p.run.Progress.TotalUSD.String(), len(bodies[*state.Limit](p)), c.told)
	}
}

// TestLedgerAddsUp along random walks: the total is the sum of the entries, which
// no step changes or drops, and costs of executions are in it.
func TestLedgerAddsUp(t *testing.T) {
	for seed := range uint64(40) {
		w := &walker{rnd: rand.New(rand.NewPCG(seed, 9)), now: epoch}
		run := newRun()
		for n := 0; n < 80 && len(run.Agents) > 0; n++ {
			next := run.With(w.step(run))
			sum := state.USD(0)
			for i, e := range next.Ledger {
				sum += e.CostUSD
				if i < len(run.Ledger) && e.N != run.Ledger[i].N {
					t.Fatalf("seed %d step %d: entry %d: got invocation %d, was %d", seed, n, i, e.N, run.Ledger[i].N)
				}
			}
			if sum != next.Progress.TotalUSD || len(next.Ledger) < len(run.Ledger) {
				t.Fatalf("seed %d step %d: total: got %s of %d entries, want %s", seed, n, next.Progress.TotalUSD, len(next.Ledger), sum)
			}
			run = next
		}
	}
}
