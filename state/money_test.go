package state_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/state"
)

// TestParseUSD checks which texts ParseUSD accepts, and the amounts that it returns.
func TestParseUSD(t *testing.T) {
	for text, want := range map[string]state.USD{
		"0": 0, "0.0": 0, "10": 10 * state.Dollar, "10.00": 10 * state.Dollar, "0.25": state.Dollar / 4,
		"0.000000001": 1, "0.0000000004": 0, "0.0000000005": 1, "0.9999999999": state.Dollar,
		"1000000000": 1e18, "1e3": 1000 * state.Dollar, "1.5e-3": 1_500_000, "2E+2": 200 * state.Dollar,
		"0.1": state.Dollar / 10, "0.3": 3 * state.Dollar / 10, "0.00450": 4_500_000,
	} {
		if got, err := state.ParseUSD(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " ", "NaN", "Inf", "-1", "-0", "+1", "010", "00", "0x10", "1_0", " 1", "1 ", "1.", ".5", "1.2.3", "1e", "e1",
		"1e31", "1e400", "1e-31", "1e0x1", "1000000000.1", "99999999999", "1,5", "$1", "null", "\"1\"", "١", "1/2", "1e1e1",
	} {
		got, err := state.ParseUSD(text)
		assert.Check(t, err != nil, "%q: got %s, want an error", text, got)
	}
}

// FuzzUSD checks that an amount that ParseUSD accepts is in the allowed range, and that reading its text
// and its JSON form returns the same amount.
func FuzzUSD(f *testing.F) {
	for _, s := range []string{"0", "10.00", "0.000000001", "1e3", "1000000000", "1.5e-3", "0x1p3", "010", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := state.ParseUSD(text)
		if err != nil {
			return
		}
		again, err := state.ParseUSD(u.String())
		if err != nil || again != u || u < 0 || u > 1e18 || strings.ContainsAny(u.String(), "eE-") {
			t.Errorf("%q: got %d, printed as %q, read again as %d (%v)", text, u, u, again, err)
		}
		data, err := json.Marshal(u)
		if err != nil || json.Unmarshal(data, &again) != nil || again != u {
			t.Errorf("%q: got %d, as JSON %s (%v), read again as %d", text, u, data, err, again)
		}
	})
}
