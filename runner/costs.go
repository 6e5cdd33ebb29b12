package runner

import (
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// costs finds out what invocations used beyond what they reported themselves, and
// what that costs at list prices.
type costs struct {
	agents   map[string]Agent
	price    func(state.Usage) (state.USD, bool) // nil: no price is known
	inTokens func(*state.Agent) bool             // the agent CLI that runs tells no dollars
}

// book returns what an invocation is booked with: what it says itself, what it used
// beyond that, and, when it says a good deal less than the meter does, a note about it.
func (c costs) book(a *state.Agent, dir string, said state.Cost) (state.Cost, []state.ModelCost, string) {
	said = c.inDollars(said)
	said.Listed = said.Listed || c.inTokens(a)
	used := c.beyond(a, dir, said)
	if said.Listed {
		said.Unpriced += c.unpriced(used)
	}
	metered := c.priced(said.Metered)
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
		said.Unpriced = c.unpriced(metered)
	}
	return said, metered, note
}

// inDollars adds the prices to a cost in tokens. With a price for each model it is exact,
// since the tokens are those that the vendor bills; a model of a known vendor without a
// price counts as the dearest of that vendor.
func (c costs) inDollars(said state.Cost) state.Cost {
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
			said.Unpriced += m.All()
		}
		m.CostUSD, said.USD = cost, said.USD.Plus(cost)
	}
	return said
}

// unpriced counts the tokens of which nobody knows what they cost.
func (c costs) unpriced(list []state.ModelCost) int64 {
	sum := int64(0)
	for _, m := range list {
		if cost, ok := c.listPrice(m.Usage); !ok && cost == 0 {
			sum += m.All()
		}
	}
	return sum
}

// listPrice is Config.ListPrice.
func (c costs) listPrice(u state.Usage) (state.USD, bool) {
	if c.price == nil {
		return 0, false
	}
	return c.price(u)
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
func (c costs) beyond(a *state.Agent, dir string, said state.Cost) []state.ModelCost {
	if len(said.Beyond) > 0 || said.Silent || said.Kind != "" {
		return c.priced(said.Beyond)
	}
	return c.priced(c.transcript(a, dir))
}

// Charge returns the step that books what a run has lost with its process, as far as it is known what the
// invocations used.
func (c *Config) Charge(run *state.Run, now time.Time) *state.Delta {
	step := run.Step(now)
	step.Charge(costs{agents: c.Agents, price: c.ListPrice, inTokens: c.tellsNoDollars}.lost(run))
	return step.Delta()
}

// lost returns, by agent, what the invocations used that the last process of the
// run lost: what it had saved of them, else what their transcripts show.
func (c costs) lost(run *state.Run) map[string]state.Lost {
	list := map[string]state.Lost{}
	for _, a := range run.Lost() {
		used := a.Exec.Running.Metered
		if tokens(used) == 0 {
			used = append(c.transcript(a, workDir(run, a)), used...)
		}
		lost := state.Lost{Used: c.priced(used), Listed: c.inTokens(a)}
		if lost.Listed {
			lost.Unpriced = c.unpriced(lost.Used)
		}
		list[a.ID] = lost
	}
	return list
}

func tokens(used []state.Usage) int64 {
	sum := int64(0)
	for _, u := range used {
		sum += u.All()
	}
	return sum
}

// priced adds list prices to tokens.
func (c costs) priced(used []state.Usage) []state.ModelCost {
	var list []state.ModelCost
	for _, u := range used {
		cost, _ := c.listPrice(u)
		list = append(list, state.ModelCost{Usage: u, CostUSD: cost})
	}
	return list
}

// transcript returns what the transcript of an agent's invocation shows. A branch
// begins with a copy of its caller's history, which was paid for already.
func (c costs) transcript(a *state.Agent, dir string) []state.Usage {
	run := a.Exec.Running
	if run.Mode == "" {
		return nil
	}
	from := int64(0)
	if run.Length != nil {
		from = *run.Length
	}
	cli, ok := c.agents[run.BackendName()]
	if !ok {
		return nil
	}
	used, ok := cli.Usage(Conversation{ID: run.SessionID, CLI: run.CLIID, Dir: dir}, from)
	if !ok {
		return nil
	}
	if run.Mode == state.Branch {
		before, _ := cli.Usage(Conversation{ID: run.From, CLI: run.FromCLIID, Dir: dir}, 0)
		used = state.Without(used, before)
	}
	return used
}

// tellsNoDollars reports whether the agent CLI of an agent's invocation tells tokens alone.
func (c *Config) tellsNoDollars(a *state.Agent) bool {
	cli := c.Agents[a.Exec.Running.BackendName()]
	return cli != nil && !cli.Abilities().TellsUSD
}

// checkPrice says why an agent CLI that tells tokens alone can't be held to a budget with a
// model; "" when it can.
func (c *Config) checkPrice(backend, model string) string {
	if _, ok := (costs{price: c.ListPrice}).listPrice(state.Usage{Model: model}); ok && model != "" {
		return ""
	}
	return NoPrice(backend, model) + "; " + NoPriceHint
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
