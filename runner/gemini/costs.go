package gemini

import (
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// cost is that of the process: what its result says, and what the key proxy has counted. Without a result nobody has told
// anything. The model is the one that the result tells the most output of, or else the one that was asked for.
func (s *stream) cost() (cost state.Cost, model string) {
	model = s.answer.model
	if s.answer.result != nil {
		most, models := int64(0), s.answer.result.models()
		for _, name := range slices.Sorted(maps.Keys(models)) {
			counts := models[name].Counts
			u := ofResult.Usage(counts, name)
			u.Output = max(u.Output, keyproxy.CountAt(counts, "total_tokens")-keyproxy.CountAt(counts, "input_tokens"))
			if u.Total() > 0 {
				cost.Kind, cost.Usage = state.InTokens, append(cost.Usage, state.ModelCost{Usage: u})
			}
			if u.Output > most {
				model, most = name, u.Output
			}
		}
	}
	counted := s.proxy.Used()
	cost.Silent = !s.answer.spoke && len(counted) == 0 && len(cost.Usage) == 0
	cost.Metered, cost.Unreported = s.proxy.Metered(), keyproxy.Beyond(counted, cost.Usage, false)
	return cost, model
}
