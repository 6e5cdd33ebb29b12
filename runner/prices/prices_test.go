package prices

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// TestEachPriceHasItsSource: a price that nobody can check is no price.
func TestEachPriceHasItsSource(t *testing.T) {
	var seen []string
	for _, p := range All() {
		read, err := time.Parse(time.DateOnly, p.Date)
		if err != nil || read.Year() < 2026 || p.Source == "" {
			t.Errorf("%s: date %q, source %q, want both", p.Model, p.Date, p.Source)
		}
		if p.Input <= 0 || p.Output <= p.Input || p.CacheWrite <= p.Input || p.CacheRead <= 0 || p.CacheRead >= p.Input {
			t.Errorf("%s: got %+v, want prices in their usual order", p.Model, p)
		}
		if slices.ContainsFunc(seen, func(other string) bool { return state.SameModel(other, p.Model) }) {
			t.Errorf("%s is on the list twice", p.Model)
		}
		seen = append(seen, p.Model)
	}
	if len(seen) == 0 {
		t.Error("the list is empty")
	}
}

// TestPriceOfTokens: names of clouds and with dates are of the same model, and what
// is not on the list has no price.
func TestPriceOfTokens(t *testing.T) {
	million := state.Usage{Input: 1e6, Output: 1e6, CacheWrite: 1e6, CacheRead: 1e6}
	for model, want := range map[string]string{
		"claude-opus-5": "36.75", "claude-opus-5[1m]": "36.75", "claude-haiku-4-5-20251001": "7.35",
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0": "22.05", "claude-opus-4-1@20250805": "110.25",
		"claude-opus-6": "", "gpt-9": "", "": "",
	} {
		million.Model = model
		got, ok := Of(million)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q: got %s, %v, want %q", model, got, ok, want)
		}
	}
	huge := state.Usage{Model: "claude-opus-5", Input: 1 << 62, Output: 1 << 62}
	if got, _ := Of(huge); got != state.MostUSD {
		t.Errorf("tokens beyond belief: got %s, want %s", got, state.MostUSD)
	}
}

// TestDocsShowThePrices: the page on limits tells what estimates are made of.
func TestDocsShowThePrices(t *testing.T) {
	page, err := os.ReadFile("../../docs/costs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range All() {
		row := "| `" + p.Model + "` | " + strings.Join([]string{num(p.Input), num(p.Output), num(p.CacheWrite), num(p.CacheRead)}, " | ") + " | " + p.Date + " |"
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/costs.md lacks this row:\n%s", row)
		}
	}
}

func num(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
