package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// maxModels is how many models have costs of their own.
const maxModels = 10

// modelCosts is what was spent, by model. The key "" has what is not known by model.
type modelCosts map[string]state.Spent

// book adds what was spent. models has the shares that are known by model; the rest is
// booked on the model that was asked for.
func (c modelCosts) book(spent state.Spent, models map[string]state.USD, asked string) {
	rest := spent
	for model, usd := range models {
		rest.USD -= usd
		c.add(model, state.Spent{USD: usd, Estimated: spent.Estimated})
	}
	if len(models) > 0 {
		asked = ""
	}
	c.add(asked, rest)
}

// add books an amount on a model. Beyond maxModels it adds to what is not known by
// model.
func (c modelCosts) add(model string, spent state.Spent) {
	model = cut(model, widestCell)
	if _, ok := c[model]; !ok && len(c) >= maxModels {
		model = ""
	}
	if spent.USD > 0 || spent.Unknown > 0 || spent.Unpriced > 0 {
		c[model] = c[model].Plus(spent)
	}
}

// with returns the costs with those of executions that did not end.
func (c modelCosts) with(all ...*unfinished) modelCosts {
	sum := maps.Clone(c)
	for _, u := range all {
		if u != nil {
			sum.book(u.Spent(), u.Models, "")
		}
	}
	return sum
}

// String returns the costs in Markdown, the most expensive model first. It is "" when no
// model is known.
func (c modelCosts) String() string {
	names := slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		return cmp.Or(cmp.Compare(c[b].USD, c[a].USD), cmp.Compare(a, b))
	})
	var parts []string
	for _, model := range names {
		if model != "" {
			parts = append(parts, fmt.Sprintf("%s %s", codeSpan(model), c[model]))
		}
	}
	if len(parts) > 0 && c[""] != (state.Spent{}) {
		parts = append(parts, "other "+c[""].String())
	}
	if len(parts) == 0 {
		return ""
	}
	return "Cost by model: " + strings.Join(parts, ", ") + "\n\n"
}

// runCosts is what a run has cost.
type runCosts struct {
	byModel modelCosts
	counted state.Spent // up to the end of the last part
	since   state.Spent // in states that ended since then
	atLimit state.Spent // as the last warning about the budget has it
}

// end takes the total that the end of a part of the run has.
func (c *runCosts) end(b *state.RunFinished) {
	c.counted, c.since, c.atLimit = b.Spent(), state.Spent{}, state.Spent{}
}

// total is what the run has cost so far, as far as events tell.
func (c *runCosts) total() state.Spent { return c.counted.Plus(c.since).AtLeast(c.atLimit) }

// unfinished is what an execution has cost so far that did not end with its part of the
// run. When it ends in a later part, its costs include this.
type unfinished struct {
	*state.Unfinished
	row *execution // where the table shows it; nil when it does not
}

// spent is nothing for none.
func (u *unfinished) spent() state.Spent {
	if u == nil {
		return state.Spent{}
	}
	return u.Spent()
}

// agentCosts is what an agent has cost.
type agentCosts struct {
	byModel    modelCosts
	ended      state.Spent // in states that ended
	unfinished *unfinished // nil for none
}

// takeUnfinished forgets the costs of an execution that did not end, and returns
// them.
func (c *agentCosts) takeUnfinished() state.Spent {
	spent := c.unfinished.spent()
	c.unfinished = nil
	return spent
}

// total is what an agent has cost so far.
func (c *agentCosts) total() state.Spent { return c.ended.Plus(c.unfinished.spent()) }
