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
	for _, u := range agents.Unpriced(w, &run, Prices(run)) {
		where := "--budget"
		if o.Label != nil {
			where = o.Label("budget")
		}
		return problem.Usage(where, fmt.Sprintf("%s (in the state %s)", runner.NoPrice(u.Backend, u.Model), u.State), runner.NoPriceHint)
	}
	return nil
}
