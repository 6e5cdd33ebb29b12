package runner

import (
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// finalCost returns the cost of an agent's invocation in dir: the cost that it reported, and the
// tokens that it used in addition to those in the report, at list prices. If the invocation
// reported much less than the meter counted, finalCost adds the difference and returns a note.
func (c *Config) finalCost(a *state.Agent, dir string, reported state.Cost) (state.Cost, []state.ModelCost, string) {
	reported = c.inDollars(reported)
	reported.Listed = reported.Listed || c.reportsTokensOnly(a)
	used, unpriced := c.priced(c.unreportedUsage(a, dir, reported))
	if reported.Listed {
		reported.Unpriced += unpriced
	}
	metered, unpriced := c.priced(reported.Metered)
	least := total(metered)
	if reported.Kind == "" || isAtLeast(reported.USD, least) {
		return reported, used, ""
	}
	note := fmt.Sprintf("the agent CLI reports a cost of %s, but what the key proxy counted costs %s at list prices: the difference is added to the cost of the run",
		reported.USD.Dollars(), least.Dollars())
	if isAtLeast(reported.USD.Plus(total(used)), least) {
		return reported, used, note
	}
	// The report is about other tokens, or its price is wrong. Only the metered tokens count.
	reported.Kind, reported.USD, reported.Usage, reported.Unpriced = "", 0, nil, 0
	if reported.Listed {
		reported.Unpriced = unpriced
	}
	return reported, metered, note
}

// inDollars adds prices to a cost that was reported in tokens. If every model has a price, the
// cost is exact, because vendors bill these tokens. If a model has no price but its vendor is known,
// the price of the vendor's most expensive model is used, and the cost is an estimate.
func (c *Config) inDollars(reported state.Cost) state.Cost {
	if reported.Kind != state.InTokens {
		return reported
	}
	reported.Kind, reported.Listed, reported.Usage = state.Exact, true, slices.Clone(reported.Usage)
	for i := range reported.Usage {
		m := &reported.Usage[i]
		if m.CostUSD > 0 {
			continue
		}
		for _, seen := range reported.Metered {
			if state.SameModel(seen.Model, m.Model) {
				m.Surcharge = seen.Surcharge
			}
		}
		cost, ok := c.listPrice(m.Usage)
		switch {
		case !ok && cost > 0:
			reported.Kind = state.Estimated
		case !ok:
			reported.Unpriced += m.Total()
		}
		m.CostUSD, reported.USD = cost, reported.USD.Plus(cost)
	}
	return reported
}

// listPrice returns the result of ListPrice. If ListPrice is nil, no price is known.
func (c *Config) listPrice(u state.Usage) (state.USD, bool) {
	if c.ListPrice == nil {
		return 0, false
	}
	return c.ListPrice(u)
}

// priced adds list prices to the used tokens. It also counts the tokens whose price is unknown.
func (c *Config) priced(used []state.Usage) (list []state.ModelCost, unpriced int64) {
	for _, u := range used {
		cost, ok := c.listPrice(u)
		if !ok && cost == 0 {
			unpriced += u.Total()
		}
		list = append(list, state.ModelCost{Usage: u, CostUSD: cost})
	}
	return list, unpriced
}

// isAtLeast reports whether a cost is at least the metered cost, within a tolerance for rounding
// and for prices of different dates.
func isAtLeast(cost, metered state.USD) bool {
	return cost.Plus(state.Dollar/1000) >= metered-metered/10
}

// total returns the sum of the costs in a list.
func total(list []state.ModelCost) state.USD {
	sum := state.USD(0)
	for _, m := range list {
		sum = sum.Plus(m.CostUSD)
	}
	return sum
}

// unreportedUsage returns the tokens that an agent's invocation in dir used in addition to those in
// its reported cost. They are the tokens that the meter saw or, if the invocation reported nothing,
// the tokens in its transcript.
func (c *Config) unreportedUsage(a *state.Agent, dir string, reported state.Cost) []state.Usage {
	if len(reported.Unreported) > 0 || reported.Silent || reported.Kind != "" {
		return reported.Unreported
	}
	return c.transcriptUsage(a, dir)
}

// Charge returns a step that adds the usage of lost invocations to the run's cost, if the usage is
// known. Lost invocations were running when the run's last process ended.
func (c *Config) Charge(run *state.Run, now time.Time) *state.Delta {
	step := run.Step(now)
	step.Charge(c.lostUsage(run))
	return step.Delta()
}

// lostUsage returns, by agent, the usage of the invocations that were running when the run's last
// process ended. If no usage of an invocation was saved, the tokens in its transcript count.
func (c *Config) lostUsage(run *state.Run) map[string]state.Outcome {
	list := map[string]state.Outcome{}
	for _, a := range run.InterruptedAgents() {
		used := a.Exec.Running.Metered
		if !slices.ContainsFunc(used, func(u state.Usage) bool { return u.Total() > 0 }) {
			used = append(c.transcriptUsage(a, workDir(run, a)), used...)
		}
		priced, unpriced := c.priced(used)
		lost := state.Cost{Listed: c.reportsTokensOnly(a)}
		if lost.Listed {
			lost.Unpriced = unpriced
		}
		list[a.ID] = state.Outcome{Used: priced, Cost: lost}
	}
	return list
}

// transcriptUsage returns the tokens that an agent's running invocation has added to its transcript.
// A branch begins with a copy of its caller's history. The tokens of that history have been paid
// for already, so they are subtracted.
func (c *Config) transcriptUsage(a *state.Agent, dir string) []state.Usage {
	run := a.Exec.Running
	if run.Mode == "" {
		return nil
	}
	from := int64(0)
	if run.Length != nil {
		from = *run.Length
	}
	cli, ok := c.Agents[run.BackendName()]
	if !ok {
		return nil
	}
	used, ok := cli.Usage(Conversation{ID: run.SessionID, CLI: run.CLIID, Dir: dir}, from)
	if !ok {
		return nil
	}
	if run.Mode == state.Branch {
		before, _ := cli.Usage(Conversation{ID: run.From, CLI: run.FromCLIID, Dir: dir}, 0)
		used = state.SubtractUsage(used, before)
	}
	return used
}

// reportsTokensOnly reports whether the agent CLI that runs an agent's invocation reports tokens
// but no cost.
func (c *Config) reportsTokensOnly(a *state.Agent) bool {
	cli := c.Agents[a.Exec.Running.BackendName()]
	return cli != nil && !cli.Abilities().ReportsUSD
}

// NoPrice returns the message that a budget can't be enforced, because the agent CLI reports only
// tokens and its model has no price. model is empty if no model is named.
func NoPrice(backend, model string) string {
	if model == "" {
		return fmt.Sprintf("the agent %s reports tokens rather than cost, and no model is named whose price could be used for the budget", backend)
	}
	return fmt.Sprintf("the agent %s reports tokens rather than cost, and its model %s has no price to use for the budget", backend, model)
}

// NoPriceHint says how to fix the problem that NoPrice describes.
const NoPriceHint = "name a model that has a price, give its price with --prices FILE, or run without a budget (--budget 0)"
