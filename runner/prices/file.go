package prices

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/state"
)

// entry is what a file says of a model.
type entry struct {
	Input       *float64   `yaml:"input"`
	CachedInput *float64   `yaml:"cached_input"`
	CacheWrite  *float64   `yaml:"cache_write"`
	Output      *float64   `yaml:"output"`
	Long        state.Long `yaml:"long"`
	Date        string     `yaml:"date"`   // when it was read, as in 2026-11-22
	Until       string     `yaml:"until"`  // the last day on which it holds; "" for no end that is known
	Source      string     `yaml:"source"` // where it was read
}

// The bounds of a price file: far more than anybody needs.
const (
	mostBytes = 1 << 20
	mostPrice = 1e6 // dollars for a million tokens
	mostTimes = 100 // as dear, for a long prompt
)

// Read reads a file of prices, in YAML or JSON, as the list in this program is written. Of a
// model, only the prices of input and output are needed: those of the cache are that of the input
// then, and long prompts cost no more.
func Read(r io.Reader) (map[string]state.Price, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > mostBytes {
		return nil, fmt.Errorf("is larger than %d bytes", mostBytes)
	}
	all, err := parse(data)
	given := map[string]state.Price{}
	for _, one := range all {
		given[one.Model] = one.Price
	}
	return given, err
}

// parse returns what a file says, in the order of the models' names.
func parse(data []byte) (all []ListedPrice, err error) {
	var file struct {
		Prices map[string]entry `yaml:"prices"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(file.Prices) == 0 {
		return nil, errors.New("has no prices; want prices: {MODEL: {input: …, output: …}}, in US dollars for a million tokens")
	}
	for _, model := range slices.Sorted(maps.Keys(file.Prices)) {
		e := file.Prices[model]
		price, err := e.price()
		if err != nil {
			return nil, fmt.Errorf("%q: %w", model, err)
		}
		all = append(all, ListedPrice{model, price, e})
	}
	return all, nil
}

// price is what an entry says, with its defaults.
func (e entry) price() (state.Price, error) {
	if e.Input == nil || e.Output == nil {
		return state.Price{}, errors.New("needs input and output")
	}
	p := state.Price{Input: *e.Input, CachedInput: *e.Input, CacheWrite: *e.Input, Output: *e.Output, Long: e.Long}
	if e.CachedInput != nil {
		p.CachedInput = *e.CachedInput
	}
	if e.CacheWrite != nil {
		p.CacheWrite = *e.CacheWrite
	}
	for _, n := range []float64{p.Input, p.CachedInput, p.CacheWrite, p.Output} {
		if math.IsNaN(n) || n < 0 || n > mostPrice {
			return state.Price{}, fmt.Errorf("has a price of %v, want 0 to %v", n, mostPrice)
		}
	}
	if l := e.Long; l != (state.Long{}) && !(l.Over > 0 && l.Input >= 1 && l.Input <= mostTimes && l.Output >= 1 && l.Output <= mostTimes) {
		return state.Price{}, fmt.Errorf("has the long prompts %+v, want over: TOKENS, and how many times the price as input and output, 1 to %v", l, mostTimes)
	}
	return p, nil
}
