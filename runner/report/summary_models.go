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
type bill map[string]state.USD

// book adds the cost of a state execution. A log that does not tell it by model
// has it booked on the one that was asked for.
func (l bill) book(b *state.StateFinished, asked string) {
	rest := b.CostUSD
	for model, usd := range b.Models {
		rest -= usd
		l.add(model, usd)
	}
	if len(b.Models) > 0 {
		asked = ""
	}
	l.add(asked, rest)
}

// add books an amount on a model, while there is room for another one.
func (l bill) add(model string, usd state.USD) {
	model = cut(model, widestCell)
	if _, ok := l[model]; !ok && len(l) >= mostModels {
		model = ""
	}
	if usd > 0 {
		l[model] += usd
	}
}

// String words the bill in Markdown, the dearest model first; "" when no model
// is known.
func (l bill) String() string {
	names := slices.SortedFunc(maps.Keys(l), func(a, b string) int {
		return cmp.Or(cmp.Compare(l[b], l[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, model := range names {
		if model != "" {
			parts = append(parts, fmt.Sprintf("%s %s", codeSpan(model), dollars(l[model])))
		}
	}
	if len(parts) > 0 && l[""] > 0 {
		parts = append(parts, "other "+dollars(l[""]))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Cost by model: " + strings.Join(parts, ", ") + "\n\n"
}
