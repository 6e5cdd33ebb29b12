package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// Prices returns the current prices for a run with these options.
func Prices(o state.Options) prices.Table { return prices.Table{Custom: o.Prices, Now: time.Now()} }

// CheckPrices returns an error if a run has a budget that can't be enforced in some states. That is the
// case if the agent CLI reports tokens instead of cost, and the model has no price. Only models that the
// workflow's files show are checked, and only states of the jobs in o. If o names no jobs, all states are
// checked.
func CheckPrices(o *options.Options, w *protocol.Workflow, run state.Options) error {
	if !run.HasBudget() {
		return nil
	}
	var out []error
	for _, u := range clis.Unpriced(w, &run, Prices(run)) {
		if o.Jobs == nil || slices.Contains(o.Jobs, w.JobOf(u.State)) {
			what := fmt.Sprintf("%s (in the state %s)", runner.NoPrice(u.Backend, u.Model), u.State)
			out = append(out, problem.Usage(o.FlagName("budget"), what, runner.NoPriceHint))
		}
	}
	return errors.Join(out...)
}
