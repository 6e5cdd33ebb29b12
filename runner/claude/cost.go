package claude

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/state"
)

// modelUsage is what a result record says of one model.
type modelUsage struct {
	Input      int64          `json:"inputTokens"`
	Output     int64          `json:"outputTokens"`
	CacheRead  int64          `json:"cacheReadInputTokens"`
	CacheWrite int64          `json:"cacheCreationInputTokens"`
	CostUSD    jsontext.Value `json:"costUSD"`
}

// cost is what the newest result record says; it counts all turns of the
// process. The zero Cost means that nothing credible was said.
func (s *stream) cost() state.Cost {
	if s.last == nil {
		return state.Cost{}
	}
	usd, err := state.ParseUSD(string(s.last.TotalCost))
	if err != nil {
		return state.Cost{}
	}
	c := state.Cost{Kind: state.Exact, USD: usd, Usage: byModel(s.last.ModelUsage)}
	if !s.last.lacksCost() {
		return c
	}
	if usd == 0 {
		return state.Cost{}
	}
	c.Kind = state.Estimated
	return c
}

// lacksCost says that the last reply broke off: the CLI learns what a reply cost
// at its end, so the sum is without it.
func (r *result) lacksCost() bool {
	brokeOff := r.Subtype == "success" && r.IsError && r.hasText && !r.isRefusal()
	return brokeOff || r.isCut() || r.TerminalReason == "aborted_streaming"
}

// byModel reads the shares of the models, in order of name. Names of one model
// with and without a suffix are added up.
func byModel(raw jsontext.Value) []state.ModelCost {
	var reported map[string]modelUsage
	if len(raw) == 0 || json.Unmarshal(raw, &reported, loose) != nil {
		return nil
	}
	sums := map[string]state.ModelCost{}
	for name, u := range reported {
		name = bare(name)
		sum := sums[name]
		sum.Model = name
		addUsage(&sum.Usage, u)
		if usd, err := state.ParseUSD(string(u.CostUSD)); err == nil {
			sum.CostUSD += usd
		}
		sums[name] = sum
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b state.ModelCost) int {
		return strings.Compare(a.Model, b.Model)
	})
}

func addUsage(sum *state.Usage, u modelUsage) {
	sum.Input += max(u.Input, 0)
	sum.Output += max(u.Output, 0)
	sum.CacheRead += max(u.CacheRead, 0)
	sum.CacheWrite += max(u.CacheWrite, 0)
}

// bare cuts the variant off a model's name, as in "opus[1m]". Transcripts name
// the model without it.
func bare(model string) string {
	name, _, _ := strings.Cut(model, "[")
	return name
}

// epoch reads seconds since 1970. Anything but a credible number is the zero
// time.
func epoch(raw jsontext.Value) time.Time {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(n > 0 && n < 1e11) {
		return time.Time{}
	}
	return time.Unix(int64(n), 0).UTC()
}
