// Package prices has the prices of models: a built-in list, and prices set by the user.
package prices

import (
	_ "embed" // prices.yaml
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

//go:embed prices.yaml
var list []byte

// ListedPrice is an entry of the built-in list.
type ListedPrice struct {
	Model string
	Price state.Price
	fileEntry
}

// All returns the built-in list, ordered by model.
var All = sync.OnceValue(func() []ListedPrice {
	all, err := parse(list)
	if err != nil {
		panic(fmt.Sprintf("internal error: prices.yaml: %v", err))
	}
	return all
})

// Table has the prices that apply to a run.
type Table struct {
	Custom map[string]state.Price // prices set by the user, by model; they override the list
	Now    time.Time              // entries of the list whose last day was before this time are ignored
}

// Cost returns the cost of tokens, and whether their model has a price. A model without a price costs as
// much as the most expensive model of its vendor, or 0 if the vendor is unknown.
func (b Table) Cost(u state.Usage) (usd state.USD, hasPrice bool) {
	p, ok := b.Find(u.Model)
	if !ok {
		p, _ = b.MostExpensive(u.Model)
	}
	return p.Cost(u), ok
}

// MostExpensive returns the price of the most expensive model of the same vendor, which the beginning of
// the name identifies. It returns false if the list has no model of that vendor.
func (Table) MostExpensive(model string) (most state.Price, known bool) {
	vendor, _, _ := strings.Cut(model, "-")
	for _, e := range All() {
		if family, _, _ := strings.Cut(e.Model, "-"); family == vendor && e.Price.Output > most.Output {
			most, known = e.Price, true
		}
	}
	return most, known
}

// Find returns the price of a model, and false for a model without a price.
func (b Table) Find(model string) (state.Price, bool) {
	if p, ok := b.Custom[model]; ok {
		return p, true
	}
	for _, name := range slices.Sorted(maps.Keys(b.Custom)) {
		if state.SameModel(name, model) {
			return b.Custom[name], true
		}
	}
	for _, e := range All() {
		if state.SameModel(e.Model, model) {
			return e.Price, e.Until == "" || b.Now.UTC().Format(time.DateOnly) <= e.Until
		}
	}
	return state.Price{}, false
}
