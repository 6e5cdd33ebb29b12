package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// mostModels is how many models costs are told by.
const mostModels = 10

// bill is what was spent by model; "" stands for what is not known by model.
type bill map[string]state.Spent

// book adds what was spent, of which models have shares. What a log does not tell
// by model is booked on the one that was asked for.
func (l bill) book(spent state.Spent, models map[string]state.USD, asked string) {
	rest := spent
	for model, usd := range models {
		rest.USD -= usd
		l.add(model, state.Spent{USD: usd, Estimated: spent.Estimated})
	}
	if len(models) > 0 {
		asked = ""
	}
	l.add(asked, rest)
}

// add books an amount on a model, while there is room for another one.
func (l bill) add(model string, spent state.Spent) {
	model = cut(model, widestCell)
	if _, ok := l[model]; !ok && len(l) >= mostModels {
		model = ""
	}
	if spent.USD > 0 || spent.Unknown > 0 {
		l[model] = l[model].Plus(spent)
	}
}

// with returns the bill with what is owed for executions that did not end.
func (l bill) with(debts ...*debt) bill {
	all := maps.Clone(l)
	for _, d := range debts {
		if d != nil {
			all.book(d.Spent(), d.Models, "")
		}
	}
	return all
}

// String words the bill in Markdown, the dearest model first; "" when no model
// is known.
func (l bill) String() string {
	names := slices.SortedFunc(maps.Keys(l), func(a, b string) int {
		return cmp.Or(cmp.Compare(l[b].USD, l[a].USD), cmp.Compare(a, b))
	})
	var parts []string
	for _, model := range names {
		if model != "" {
			parts = append(parts, fmt.Sprintf("%s %s", codeSpan(model), l[model]))
		}
	}
	if len(parts) > 0 && l[""] != (state.Spent{}) {
		parts = append(parts, "other "+l[""].String())
	}
	if len(parts) == 0 {
		return ""
	}
	return "Cost by model: " + strings.Join(parts, ", ") + "\n\n"
}
