package claude

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/claude/tally"
	"github.com/raymond-action/raymond-action/state"
)

// modelUsage is what a result record says of one model.
type modelUsage struct {
	Input      jsontext.Value `json:"inputTokens"`
	Output     jsontext.Value `json:"outputTokens"`
	CacheRead  jsontext.Value `json:"cacheReadInputTokens"`
	CacheWrite jsontext.Value `json:"cacheCreationInputTokens"`
	CostUSD    jsontext.Value `json:"costUSD"`
}

// counting is the first version that goes on counting when a conversation is
// resumed or branched.
var counting = version{2, 1, 277}

// cost is what is known of the cost of the process.
func (s *stream) cost() state.Cost {
	c := s.reported()
	counted := s.counted()
	c.Silent = !s.meter.spoke && len(counted) == 0
	told := s.last != nil && len(s.last.ModelUsage) > 0
	if c.Kind == "" || c.USD == 0 || told {
		// Of one that tells a sum alone nothing can be said of what is in it.
		c.Beyond = beyond(counted, c.Usage)
	}
	return c
}

// counted is what was counted of the tokens of the process: by the proxy between
// the CLI and the API where there is one that could, else from the stream.
func (s *stream) counted() []tally.Sum {
	if s.proxied != nil {
		if list := s.proxied.Used(); len(list) > 0 {
			return list
		}
	}
	return s.meter.counted()
}

// reported is the share of the process in what its result records say; it counts
// all turns of the process. Without a Kind nothing credible was said.
func (s *stream) reported() state.Cost {
	if s.last == nil {
		return state.Cost{}
	}
	c := state.Cost{Kind: state.Exact}
	total, valid := amount(s.last.TotalCost)
	models := byModel(s.last.ModelUsage)
	if valid && !s.version.before(counting) {
		c.Reached = &state.Reached{USD: total, Models: models}
	}
	switch {
	case s.shared == s.results:
		c.USD, c.Usage = s.share.USD, s.share.Usage
	case !valid:
		return state.Cost{}
	case c.Reached != nil:
		before := s.prior.read()
		c.USD, c.Usage = max(0, total-before.USD), since(models, before.Models)
	default:
		c.USD, c.Usage = total, models
	}
	if !s.last.lacksCost() {
		return c
	}
	if c.USD == 0 {
		c.Kind, c.Usage = "", nil
		return c
	}
	c.Kind = state.Estimated
	return c
}

// lacksCost says that the last reply broke off: the CLI learns what a reply cost
// at its end, so the sum is without it, or with an estimate.
func (r *result) lacksCost() bool {
	brokeOff := r.Subtype == "success" && r.IsError && r.hasText && !r.isRefusal()
	return brokeOff || r.isCut() || r.TerminalReason == "aborted_streaming"
}

// addShare takes in what a result record says of what came since the one before.
func (s *stream) addShare(raw jsontext.Value) {
	var reported map[string]modelUsage
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &reported, loose) != nil {
		return
	}
	sum := state.USD(0)
	for _, u := range reported {
		usd, ok := amount(u.CostUSD)
		if !ok {
			return
		}
		sum = sum.Plus(usd)
	}
	s.shared++
	s.share.USD = s.share.USD.Plus(sum)
	for _, m := range byModel(raw) {
		s.share.Usage = plus(s.share.Usage, m)
	}
}

// plus adds what a model used and cost to a list in order of name.
func plus(list []state.ModelCost, m state.ModelCost) []state.ModelCost {
	i, found := slices.BinarySearchFunc(list, m.Model, func(x state.ModelCost, name string) int {
		return strings.Compare(x.Model, name)
	})
	if !found {
		return slices.Insert(list, i, m)
	}
	x := &list[i]
	x.Input, x.Output = x.Input+m.Input, x.Output+m.Output
	x.CacheWrite, x.CacheRead = x.CacheWrite+m.CacheWrite, x.CacheRead+m.CacheRead
	x.CostUSD = x.CostUSD.Plus(m.CostUSD)
	return list
}

// since returns what models have reached less what they had reached before.
func since(now, before []state.ModelCost) []state.ModelCost {
	var list []state.ModelCost
	for _, m := range now {
		for _, b := range before {
			if b.Model == m.Model {
				m.Usage, m.CostUSD = less(m.Usage, b.Usage), max(0, m.CostUSD-b.CostUSD)
			}
		}
		if m.CostUSD > 0 || m.Usage != (state.Usage{Model: m.Model}) {
			list = append(list, m)
		}
	}
	return list
}

// amount reads an amount of dollars as the CLI tells it. One that is too large to
// keep is the largest that can be kept, so that it ends the run. What is negative,
// no number or missing is no amount.
func amount(raw jsontext.Value) (state.USD, bool) {
	text := string(raw)
	if usd, err := state.ParseUSD(text); err == nil {
		return usd, true
	}
	if len(raw) == 0 || raw.Kind() != '0' || text[0] == '-' {
		return 0, false
	}
	if n, _ := strconv.ParseFloat(text, 64); n < 1 { // 1e-40; one beyond 1e308 is infinite
		return 0, true
	}
	return state.MostUSD, true
}

// byModel reads the shares of the models, in order of name. Names of one model
// with and without a suffix are added up.
func byModel(raw jsontext.Value) []state.ModelCost {
	var reported map[string]modelUsage
	if len(raw) == 0 || json.Unmarshal(raw, &reported, loose) != nil {
		return nil
	}
	var list []state.ModelCost
	for _, name := range slices.Sorted(maps.Keys(reported)) {
		u := reported[name]
		usd, _ := amount(u.CostUSD)
		list = plus(list, state.ModelCost{CostUSD: usd, Usage: state.Usage{
			Model: tally.Bare(name), Input: tally.Count(u.Input), Output: tally.Count(u.Output),
			CacheRead: tally.Count(u.CacheRead), CacheWrite: tally.Count(u.CacheWrite),
		}})
	}
	return list
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
