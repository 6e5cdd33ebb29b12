package gemini

import (
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// cost returns the cost of the process, from its result and from the counts of the key proxy.
// Without a result, the CLI has reported nothing. model is the one with the most output in the
// result, or else the requested one.
func (s *stream) cost() (cost state.Cost, model string) {
	model = s.answer.model
	if s.answer.result != nil {
		most, models := int64(0), s.answer.result.models()
		for _, name := range slices.Sorted(maps.Keys(models)) {
			counts := models[name].Counts
			u := resultLayout.Usage(counts, name)
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
	cost.Silent = !s.answer.hasOutput && len(counted) == 0 && len(cost.Usage) == 0
	cost.Metered, cost.Unreported = s.proxy.Metered(), keyproxy.Beyond(counted, cost.Usage, false)
	return cost, model
}
