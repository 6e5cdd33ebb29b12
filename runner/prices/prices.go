// Package prices knows the list prices of models, for estimates of what no agent
// CLI has told.
package prices

import (
	_ "embed" // the list
	"fmt"
	"math"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/state"
)

//go:embed prices.yaml
var list []byte

// Price is what a model costs: US dollars for a million tokens.
type Price struct {
	Model      string  `yaml:"model"`
	Input      float64 `yaml:"input"`
	Output     float64 `yaml:"output"`
	CacheWrite float64 `yaml:"cache_write"`
	CacheRead  float64 `yaml:"cache_read"`
	Date       string  `yaml:"date"`   // when it was read
	Source     string  `yaml:"source"` // where
}

// All returns the list in its order.
var All = sync.OnceValue(func() []Price {
	var file struct {
		Prices []Price `yaml:"prices"`
	}
	if err := yaml.Unmarshal(list, &file); err != nil {
		panic(fmt.Sprintf("internal error: prices.yaml: %v", err))
	}
	return file.Prices
})

// Of returns what tokens of a model cost by the list, and false for a model that
// is not on it.
func Of(u state.Usage) (state.USD, bool) {
	for _, p := range All() {
		if state.SameModel(p.Model, u.Model) {
			million := p.Input*float64(u.Input) + p.Output*float64(u.Output) +
				p.CacheWrite*float64(u.CacheWrite) + p.CacheRead*float64(u.CacheRead)
			return amount(million * float64(state.Dollar) / 1e6), true
		}
	}
	return 0, false
}

// amount is a number of billionths of a dollar, within what is kept.
func amount(n float64) state.USD {
	return state.USD(math.Round(min(max(n, 0), float64(state.MostUSD))))
}
