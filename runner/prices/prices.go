// Package prices contains the prices of models: a built-in list, and prices that the user sets.
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

// All returns the entries of the built-in list, sorted by model.
var All = sync.OnceValue(func() []ListedPrice {
	all, err := parse(list)
	if err != nil {
		panic(fmt.Sprintf("internal error: prices.yaml: %v", err))
	}
	return all
})

// Table contains the prices that apply to a run.
type Table struct {
	Custom map[string]state.Price // prices that the user set, by model; they override the built-in list
	Now    time.Time              // the current time; listed prices whose last day has passed count as expired
}

// Cost returns the cost of the tokens in u, and whether their model has a current price. A model without
// a price costs as much as the most expensive model of its vendor, or 0 if the vendor is unknown. If the
// listed price has expired, Cost still uses it but returns false.
func (b Table) Cost(u state.Usage) (usd state.USD, hasPrice bool) {
	p, ok := b.Find(u.Model)
	if !ok {
		p, _ = b.MostExpensive(u.Model)
	}
	return p.Cost(u), ok
}

// MostExpensive returns the price of the listed model with the highest output price of the same vendor.
// The beginning of the model's name, up to the first hyphen, identifies the vendor. MostExpensive returns
// false if the list has no model of that vendor.
func (Table) MostExpensive(model string) (most state.Price, known bool) {
	vendor, _, _ := strings.Cut(model, "-")
	for _, e := range All() {
		if family, _, _ := strings.Cut(e.Model, "-"); family == vendor && e.Price.Output > most.Output {
			most, known = e.Price, true
		}
	}
	return most, known
}

// Find returns the price of a model, and whether that price is current. If the listed price has expired,
// Find returns that price and false. If the model has no price, Find returns a zero price and false.
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
