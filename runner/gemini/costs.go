package gemini

import (
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/state"
)

// costs is what is known of the tokens of a process: what its result says, and what the key
// proxy has counted.
type costs struct {
	proxy *keyproxy.Account // nil without one
}

// total is the cost of the process. Without a result nobody has told anything.
func (c costs) total(result *record, spoke bool) state.Cost {
	var cost state.Cost
	if result != nil {
		models := result.models()
		for _, model := range slices.Sorted(maps.Keys(models)) {
			if u := models[model].usage(model); u.All() > 0 {
				cost.Kind, cost.Usage = state.InTokens, append(cost.Usage, state.ModelCost{Usage: u})
			}
		}
	}
	counted := tally.Usage(c.proxy.Used())
	cost.Silent = !spoke && len(counted) == 0 && len(cost.Usage) == 0
	cost.Metered, cost.Beyond = c.proxy.Metered(), tally.Beyond(counted, cost.Usage)
	return cost
}

// model is the one that the result tells the most output of, or else the one that was asked for.
func (c costs) model(result *record, asked string) string {
	best, most := asked, int64(0)
	if result == nil {
		return best
	}
	models := result.models()
	for _, model := range slices.Sorted(maps.Keys(models)) {
		if out := models[model].usage(model).Output; out > most {
			best, most = model, out
		}
	}
	return best
}
