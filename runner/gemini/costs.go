package gemini

import (
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// cost returns the cost of the process. It is based on the CLI's result, which may be missing, and
// on the tokens that the key proxy has counted. model is the model with the most output tokens in
// the result or, if the result is missing, the model that the CLI has reported at the start.
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
