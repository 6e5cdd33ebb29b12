package prices

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// TestEachPriceHasItsSource checks that every listed price names the page and the day on which it was
// looked up.
func TestEachPriceHasItsSource(t *testing.T) {
	var seen []string
	for _, p := range All() {
		read, err := time.Parse(time.DateOnly, p.Date)
		assert.Check(t, err == nil && read.Year() >= 2026 && p.Source != "", "%s: date %q, source %q, want both", p.Model, p.Date, p.Source)
		if _, err := time.Parse(time.DateOnly, p.Until); err != nil && p.Until != "" {
			t.Errorf("%s: until %q, want a date", p.Model, p.Until)
		}
		n := p.Price
		assert.Check(t, n.Input > 0 && n.Output > n.Input && n.CacheWrite >= n.Input && n.CachedInput > 0 && n.CachedInput < n.Input, "%s: got %+v, want prices in their usual order", p.Model, n)
		assert.Check(t, !slices.ContainsFunc(seen, func(other string) bool { return state.SameModel(other, p.Model) }), "%s is on the list twice", p.Model)
		seen = append(seen, p.Model)
	}
	assert.Check(t, len(seen) != 0, "the list is empty")
}

// TestUnpricedModelCostsLikeMostExpensive checks that MostExpensive finds the most expensive model of the
// same vendor, whose price applies to models without a price.
func TestUnpricedModelCostsLikeMostExpensive(t *testing.T) {
	for model, want := range map[string]string{"claude-opus-6": "110.25", "gpt-9": "73.5", "gemini-9": "16.2", "o4-mini": "", "": ""} {
		price, ok := Table{}.MostExpensive(model)
		got := price.Cost(state.Usage{Input: 1e6, Output: 1e6, CacheWrite: 1e6, CacheRead: 1e6}).String()
		assert.Check(t, ok == (want != "") && (!ok || got == want), "%q: got %s, %v, want %q", model, got, ok, want)
	}
}

// TestLongCacheAndLongPromptsCostMore checks that a token cached for an hour costs twice as much as an input
// token. It also checks that a long prompt makes all tokens in the request more expensive.
func TestLongCacheAndLongPromptsCostMore(t *testing.T) {
	for name, c := range map[string]struct {
		model string
		used  state.Usage
		want  string
	}{
		"an hour":              {"claude-opus-5", state.Usage{CacheWrite: 1e6, CacheHour: 6e5}, "8.5"},
		"just not long":        {"gemini-2.5-pro", state.Usage{Input: 1e5, CacheRead: 1e5, Output: 1e6}, "10.1375"},
		"long":                 {"gemini-2.5-pro", state.Usage{Input: 100_001, CacheRead: 1e5, Output: 1e6}, "15.2750025"},
		"long, for an hour":    {"claude-haiku-5-5", state.Usage{CacheWrite: 1e6, CacheHour: 1e6, Output: 1e6}, "3.5"},
		"long, no such prices": {"claude-opus-5", state.Usage{Input: 1e6}, "5"},
		"long at OpenAI":       {"gpt-5.5", state.Usage{Input: 272_001}, "2.72001"},
	} {
		c.used.Model = c.model
		price, _ := Table{}.Find(c.model)
		assert.Check(t, is.Equal(price.Cost(c.used).Plus(price.Surcharge(c.used)).String(), c.want), name)
	}
}

// TestUserPricesOverrideTheList checks that prices set by the user override the built-in list and can add
// models to it, and that only the input and output prices are required.
func TestUserPricesOverrideTheList(t *testing.T) {
	given, err := Read(strings.NewReader("prices:\n  gpt-5: {input: 3, cached_input: 0, cache_write: 7, output: 4}\n  local: {input: 0, output: 0}\n  mine: {input: 2, output: 5, date: 2026-11-22, source: a bill}\n  far: {input: 1, output: 1, long: {over: 2, input: 3, output: 1}}\n"))
	assert.NilError(t, err)
	for model, want := range map[string]string{"gpt-5-2025-08-07": "14", "local": "0", "mine": "11", "far": "4", "gpt-5-mini": "2.525"} {
		got, ok := Table{Custom: given}.Cost(state.Usage{Model: model, Input: 1e6, Output: 1e6, CacheWrite: 1e6, CacheRead: 1e6})
		assert.Check(t, ok, "%s: got %s, %v, want %s", model, got, ok, want)
		assert.Check(t, is.Equal(got.String(), want), model)
	}
}

// TestExpiredPriceIsNotUsed checks that a price no longer counts as current after its last day.
func TestExpiredPriceIsNotUsed(t *testing.T) {
	for day, want := range map[string]bool{"2026-12-31T23:59:59Z": true, "2027-01-01T00:00:00Z": false} {
		now, err := time.Parse(time.RFC3339, day)
		assert.NilError(t, err)
		_, ok := (Table{Now: now}).Cost(state.Usage{Model: "gemini-3.8-flash", Input: 1})
		assert.Check(t, is.Equal(ok, want), day)
	}
}

// TestBadPriceFilesAreRefused checks that Read rejects invalid price files with an error that says what is
// wrong.
func TestBadPriceFilesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "has no prices",
		"prices: {}":                            "has no prices",
		"prices: {m: {input: 1}}":               `"m": needs input and output`,
		"prices: {m: {input: -1, output: 1}}":   "price of -1",
		"prices: {m: {input: .nan, output: 1}}": "price of NaN",
		"prices: {m: {input: .inf, output: 1}}": "price of +Inf",
		"prices: {m: {input: 1, output: 1, long: {input: 2, output: 2}}}":             "has long:",
		"prices: {m: {input: 1, output: 1, long: {over: 9, input: 0.5, output: 2}}}":  "has long:",
		"prices: {m: {input: 1, output: 1, long: {over: 9, input: 2, output: .inf}}}": "has long:",
		"prices: {m: {input: 1, output: 1, ouput: 2}}":                                "ouput",
		"price: {m: {input: 1, output: 1}}":                                           "field price not found",
		"prices: {m: {input: 1, output: 1}, m: {input: 2, output: 2}}":                "already defined",
		"prices: {m: {input: a, output: 1}}":                                          "cannot unmarshal",
		strings.Repeat("#", maxBytes+1):                                               "larger than",
	} {
		_, err := Read(strings.NewReader(text))
		assert.Check(t, err != nil && strings.Contains(err.Error(), want), "%.40q: got %v, want %q in it", text, err, want)
	}
}

// TestDocsShowThePrices checks that docs/costs.md contains a table row for each entry of the built-in list.
func TestDocsShowThePrices(t *testing.T) {
	page, err := os.ReadFile("../../docs/costs.md")
	assert.NilError(t, err)
	for _, p := range All() {
		when := p.Date
		if p.Until != "" {
			when += ", until " + p.Until
		}
		cells := []string{"`" + p.Model + "`", num(p.Price.Input), num(p.Price.CachedInput), num(p.Price.CacheWrite), num(p.Price.Output), long(p.Price.Long), when, p.Source}
		row := "| " + strings.Join(cells, " | ") + " |\n"
		assert.Check(t, is.Contains(string(page), row), "docs/costs.md lacks this row:\n%s", row)
	}
}

// long returns the factors for long prompts in the form in which docs/costs.md shows them.
func long(l state.Long) string {
	if l == (state.Long{}) {
		return ""
	}
	return fmt.Sprintf("over %d: %s, %s times", l.Over, num(l.Input), num(l.Output))
}

func num(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
