package state

// Price is what a model costs: US dollars for a million tokens.
type Price struct {
	Input       float64 `json:"input"`        // that is not from the cache
	CachedInput float64 `json:"cached_input"` // read from the cache
	CacheWrite  float64 `json:"cache_write"`  // written to the cache
	Output      float64 `json:"output"`       // the answers
	Long        Long    `json:"long,omitzero"`
}

// Long says how many times as dear a request is, all of it, whose prompt has more than Over tokens.
// The zero Long is for models that know no such prompts.
type Long struct {
	Over   int64   `json:"over" yaml:"over"`
	Input  float64 `json:"input" yaml:"input"` // also what the cache reads and writes
	Output float64 `json:"output" yaml:"output"`
}

// hour is how many times the price of the input a token costs that the cache keeps for an hour.
const hour = 2

// Cost returns what tokens cost, with their surcharge.
func (p Price) Cost(u Usage) USD { return usd(p.input(u) + p.output(u)).Plus(max(0, u.Surcharge)) }

// Surcharge returns what one request costs beyond the prices of its tokens since its prompt is long.
func (p Price) Surcharge(u Usage) USD {
	if p.Long.Over == 0 || u.Input+u.CacheWrite+u.CacheRead <= p.Long.Over {
		return 0
	}
	return usd((p.Long.Input-1)*p.input(u) + (p.Long.Output-1)*p.output(u))
}

// perToken is a dollar for a million tokens, in billionths of a dollar for one.
const perToken = float64(Dollar) / 1e6

func (p Price) input(u Usage) float64 {
	plain := p.Input*float64(u.Input) + p.CachedInput*float64(u.CacheRead) + p.CacheWrite*float64(u.CacheWrite)
	return (plain + (hour*p.Input-p.CacheWrite)*float64(u.CacheHour)) * perToken
}

func (p Price) output(u Usage) float64 { return p.Output * float64(u.Output) * perToken }
