package runner

import (
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// book returns what an invocation of an agent in dir is booked with: what it says itself, what it used
// beyond that at list prices, and, when it says a good deal less than the meter does, a note about it.
func (c *Config) book(a *state.Agent, dir string, said state.Cost) (state.Cost, []state.ModelCost, string) {
	said = c.inDollars(said)
	said.Listed = said.Listed || c.tellsNoDollars(a)
	used, unpriced := c.priced(c.beyond(a, dir, said))
	if said.Listed {
		said.Unpriced += unpriced
	}
	metered, unpriced := c.priced(said.Metered)
	least := total(metered)
	if said.Kind == "" || isAbout(said.USD, least) {
		return said, used, ""
	}
	note := fmt.Sprintf("the agent CLI reports a cost of %s, but what the key proxy counted costs %s at list prices: the difference is added to the cost of the run",
		said.USD.Dollars(), least.Dollars())
	if isAbout(said.USD.Plus(total(used)), least) {
		return said, used, note
	}
	// What it says is about other tokens, or has the wrong price.
	said.Kind, said.USD, said.Usage, said.Unpriced = "", 0, nil, 0
	if said.Listed {
		said.Unpriced = unpriced
	}
	return said, metered, note
}

// inDollars adds the prices to a cost in tokens. With a price for each model it is exact,
// since the tokens are those that the vendor bills; a model of a known vendor without a
// price counts as the dearest of that vendor.
func (c *Config) inDollars(said state.Cost) state.Cost {
	if said.Kind != state.InTokens {
		return said
	}
	said.Kind, said.Listed, said.Usage = state.Exact, true, slices.Clone(said.Usage)
	for i := range said.Usage {
		m := &said.Usage[i]
		if m.CostUSD > 0 {
			continue
		}
		for _, seen := range said.Metered {
			if state.SameModel(seen.Model, m.Model) {
				m.Surcharge = seen.Surcharge
			}
		}
		cost, ok := c.listPrice(m.Usage)
		switch {
		case !ok && cost > 0:
			said.Kind = state.Estimated
		case !ok:
			said.Unpriced += m.Total()
		}
		m.CostUSD, said.USD = cost, said.USD.Plus(cost)
	}
	return said
}

// listPrice is ListPrice.
func (c *Config) listPrice(u state.Usage) (state.USD, bool) {
	if c.ListPrice == nil {
		return 0, false
	}
	return c.ListPrice(u)
}

// priced adds list prices to tokens, and counts those of which nobody knows what they cost.
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

// isAbout reports whether a cost is at least what was metered, but for what prices of
// different dates and roundings make of it.
func isAbout(cost, metered state.USD) bool {
	return cost.Plus(state.Dollar/1000) >= metered-metered/10
}

func total(list []state.ModelCost) state.USD {
	sum := state.USD(0)
	for _, m := range list {
		sum = sum.Plus(m.CostUSD)
	}
	return sum
}

// beyond returns what an invocation of an agent in dir used beyond what it says
// that it cost: what was seen going by, or, when the invocation says nothing, what
// its transcript shows.
func (c *Config) beyond(a *state.Agent, dir string, said state.Cost) []state.Usage {
	if len(said.Unreported) > 0 || said.Silent || said.Kind != "" {
		return said.Unreported
	}
	return c.transcript(a, dir)
}

// Charge returns the step that books what a run has lost with its process, as far as it is known what the
// invocations used.
func (c *Config) Charge(run *state.Run, now time.Time) *state.Delta {
	step := run.Step(now)
	step.Charge(c.lost(run))
	return step.Delta()
}

// lost returns, by agent, what the invocations used that the last process of the
// run lost: what it had saved of them, else what their transcripts show.
func (c *Config) lost(run *state.Run) map[string]state.Outcome {
	list := map[string]state.Outcome{}
	for _, a := range run.InterruptedAgents() {
		used := a.Exec.Running.Metered
		if !slices.ContainsFunc(used, func(u state.Usage) bool { return u.Total() > 0 }) {
			used = append(c.transcript(a, workDir(run, a)), used...)
		}
		priced, unpriced := c.priced(used)
		lost := state.Cost{Listed: c.tellsNoDollars(a)}
		if lost.Listed {
			lost.Unpriced = unpriced
		}
		list[a.ID] = state.Outcome{Used: priced, Cost: lost}
	}
	return list
}

// transcript returns what the transcript of an agent's invocation shows. A branch
// begins with a copy of its caller's history, which was paid for already.
func (c *Config) transcript(a *state.Agent, dir string) []state.Usage {
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

// tellsNoDollars reports whether the agent CLI of an agent's invocation tells tokens alone.
func (c *Config) tellsNoDollars(a *state.Agent) bool {
	cli := c.Agents[a.Exec.Running.BackendName()]
	return cli != nil && !cli.Abilities().ReportsUSD
}

// NoPrice says that an agent CLI which tells tokens alone can't be held to a budget with a
// model without a price, or without any ("").
func NoPrice(backend, model string) string {
	if model == "" {
		return fmt.Sprintf("the agent %s tells tokens and no dollars, and no model is named by whose price the budget could be kept", backend)
	}
	return fmt.Sprintf("the agent %s tells tokens and no dollars, and its model %s has no price by which the budget could be kept", backend, model)
}

// NoPriceHint says what can be done about NoPrice.
const NoPriceHint = "name a model that has a price, give its price with --prices FILE, or run without a budget (--budget 0)"
