package session

import (
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// Prices returns the prices that hold for a run with these options.
func Prices(o state.Options) prices.Book { return prices.Book{Given: o.Prices, Now: time.Now()} }

// CheckPrices reports states with which a run can't be held to its budget, as far as the
// files of its workflow show: those of agents that tell no dollars, without a model that has
// a price.
func CheckPrices(o *options.Options, w *protocol.Workflow, run state.Options) error {
	if run.BudgetUSD == 0 {
		return nil
	}
	for _, u := range Unpriced(w, run) {
		where := "--budget"
		if o.Label != nil {
			where = o.Label("budget")
		}
		return problem.Usage(where, fmt.Sprintf("%s (in the state %s)", runner.NoPrice(u.Backend, u.Model), u.State), runner.NoPriceHint)
	}
	return nil
}

// Unpriced returns the ways in which a state may begin with an agent that tells no dollars,
// and without a model that has a price.
func Unpriced(w *protocol.Workflow, run state.Options) []protocol.Beginning {
	var list []protocol.Beginning
	book := Prices(run)
	for _, b := range w.Chart().Beginnings(run.Backend, run.Model) {
		if can, ok := agents.Of(b.Backend); !ok || can.TellsUSD {
			continue
		}
		if _, ok := book.Of(state.Usage{Model: b.Model}); !ok || b.Model == "" {
			list = append(list, b)
		}
	}
	return list
}
