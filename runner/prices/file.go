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

// fileEntry is a model's entry in a price file.
type fileEntry struct {
	Input       *float64   `yaml:"input"`
	CachedInput *float64   `yaml:"cached_input"`
	CacheWrite  *float64   `yaml:"cache_write"`
	Output      *float64   `yaml:"output"`
	Long        state.Long `yaml:"long"`
	Date        string     `yaml:"date"`   // the day on which the price was looked up, for example 2026-11-22
	Until       string     `yaml:"until"`  // the last day on which the price is valid; "" if unknown
	Source      string     `yaml:"source"` // where the price was found, for example the address of a page
}

// The limits for price files. They are far above the size and the prices of any real file.
const (
	maxBytes  = 1 << 20
	maxPrice  = 1e6 // US dollars for a million tokens
	maxFactor = 100 // maximum of the factors for long prompts
)

// Read reads a price file in YAML or JSON, in the format of prices.yaml, and returns the prices by model.
// Only the input and output prices are required. By default, cache prices equal the input price, and long
// prompts have no surcharge.
func Read(r io.Reader) (map[string]state.Price, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("is larger than %d bytes", maxBytes)
	}
	all, err := parse(data)
	given := map[string]state.Price{}
	for _, one := range all {
		given[one.Model] = one.Price
	}
	return given, err
}

// parse returns the entries of a price file, sorted by model. It returns an error if the file contains no
// prices.
func parse(data []byte) (all []ListedPrice, err error) {
	var file struct {
		Prices map[string]fileEntry `yaml:"prices"`
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

// price returns the price in an entry, with defaults for missing fields. It returns an error if a number is
// missing or out of range.
func (e fileEntry) price() (state.Price, error) {
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
		if math.IsNaN(n) || n < 0 || n > maxPrice {
			return state.Price{}, fmt.Errorf("has a price of %v, want 0 to %v", n, maxPrice)
		}
	}
	if l := e.Long; l != (state.Long{}) && !(l.Over > 0 && l.Input >= 1 && l.Input <= maxFactor && l.Output >= 1 && l.Output <= maxFactor) {
		return state.Price{}, fmt.Errorf("has long: %+v; want over: TOKENS, and factors from 1 to %v as input and output", l, maxFactor)
	}
	return p, nil
}
