package state

// Price is the price of a model in US dollars for a million tokens.
type Price struct {
	Input       float64 `json:"input"`        // input tokens that were not read from the cache
	CachedInput float64 `json:"cached_input"` // input tokens read from the cache
	CacheWrite  float64 `json:"cache_write"`  // input tokens written to the cache
	Output      float64 `json:"output"`       // output tokens
	// Long makes requests with a long prompt more expensive.
	Long Long `json:"long,omitzero"`
}

// Long contains the factors for the price of a request with more than Over prompt tokens. It is zero for
// models whose price does not depend on the length of the prompt.
type Long struct {
	Over   int64   `json:"over" yaml:"over"`     // number of prompt tokens above which the factors apply
	Input  float64 `json:"input" yaml:"input"`   // factor for input tokens, including tokens read from the cache or written to it
	Output float64 `json:"output" yaml:"output"` // factor for output tokens
}

// hourFactor is the price of a token that the cache keeps for an hour, as a multiple of the price of an
// input token.
const hourFactor = 2

// Cost returns the normal price of the tokens in u, plus the amount in u.Surcharge. It does not compute
// the extra cost of a long prompt; see Price.Surcharge.
func (p Price) Cost(u Usage) USD { return usd(p.input(u) + p.output(u)).Plus(max(0, u.Surcharge)) }

// Surcharge returns the extra cost of a single request with a long prompt, beyond the normal price of its
// tokens. It returns 0 if the prompt is not long.
func (p Price) Surcharge(u Usage) USD {
	if p.Long.Over == 0 || u.Input+u.CacheWrite+u.CacheRead <= p.Long.Over {
		return 0
	}
	return usd((p.Long.Input-1)*p.input(u) + (p.Long.Output-1)*p.output(u))
}

// perToken converts dollars for a million tokens to billionths of a dollar for one token.
const perToken = float64(Dollar) / 1e6

// input returns the cost of all input tokens, in billionths of a dollar.
func (p Price) input(u Usage) float64 {
	plain := p.Input*float64(u.Input) + p.CachedInput*float64(u.CacheRead) + p.CacheWrite*float64(u.CacheWrite)
	return (plain + (hourFactor*p.Input-p.CacheWrite)*float64(u.CacheHour)) * perToken
}

// output returns the cost of the output tokens, in billionths of a dollar.
func (p Price) output(u Usage) float64 { return p.Output * float64(u.Output) * perToken }
