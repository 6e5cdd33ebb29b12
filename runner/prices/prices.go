// Package prices knows what models cost: by the list in this program, and by what a user
// has given.
package prices

import (
	_ "embed" // the list
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

// ListedPrice is an entry of the list.
type ListedPrice struct {
	Model string
	Price state.Price
	entry
}

// All returns the list, in the order of the models' names.
var All = sync.OnceValue(func() []ListedPrice {
	all, err := parse(list)
	if err != nil {
		panic(fmt.Sprintf("internal error: prices.yaml: %v", err))
	}
	return all
})

// Table has the prices that hold for a run.
type Table struct {
	Custom map[string]state.Price // by model; they go before the list
	Now    time.Time              // entries of the list that had ended by then have no price
}

// Cost returns what tokens of a model cost, and whether the model has a price. Without one they are as dear
// as those of the dearest model of its vendor; they cost 0 where no vendor is known.
func (b Table) Cost(u state.Usage) (usd state.USD, hasPrice bool) {
	p, ok := b.Find(u.Model)
	if !ok {
		p, _ = b.MostExpensive(u.Model)
	}
	return p.Cost(u), ok
}

// MostExpensive is the price of the dearest model of the vendor of a model, by the beginning of its name;
// false where the list has none of that vendor.
func (Table) MostExpensive(model string) (most state.Price, known bool) {
	vendor, _, _ := strings.Cut(model, "-")
	for _, e := range All() {
		if family, _, _ := strings.Cut(e.Model, "-"); family == vendor && e.Price.Output > most.Output {
			most, known = e.Price, true
		}
	}
	return most, known
}

// Find is the price of a model, and false for a model without one.
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
