package keyproxy

import (
	"strings"
	"testing"
)

// TestWhatARequestSays of its cost is found wherever it stands, and what can't be held to a price is
// refused.
func TestWhatARequestSays(t *testing.T) {
	f := Fields{Model: "model", Output: []string{"max", "config.max"}, One: []string{"config.n"}, Standard: []string{"tier"}, Refused: []string{"later"}}
	image := `"` + "iVBORw0K" + strings.Repeat("A", 92) + `"`
	for body, want := range map[string]Request{
		`{"model":"m","max":7}`: {Model: "m", Output: 7},
		` {"x":{"model":"other","max":1},"y":[{"model":"other"},"model",["max",9]],"config":{"max":5,"n":1},"model":"m","tier":"auto","later":false} `: {Model: "m", Output: 5},
		`{"messages":[{"content":[{"data":` + image + `},{"text":"iVBOR"},` + image + `]}],"tier":null}`:                                               {Pictures: 2, Packed: 204},
		`{"config":{"deep":{"n":2}},"list":[{"config":{"n":2}}],"later":null}`:                                                                         {},
	} {
		if got, err := f.Read(strings.NewReader(body)); got != want || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", body, got, err, want)
		}
	}
	for _, body := range []string{
		``, ` `, `[]`, `"model"`, `{`, `{"model":"m"}{"later":true}`, `{"model":"m"} x`, `{"model":"a","model":"b"}`, `{"x":[{"a":1,"a":2}]}`,
		`{"config":{"n":2}}`, `{"tier":"fast"}`, `{"config":{"n":"2"}}`, `{"later":true}`, `{"later":1}`, `{"mod\u0065l":"a","model":"b"}`, strings.Repeat(`{"a":`, 20_000),
	} {
		if got, err := f.Read(strings.NewReader(body)); err == nil {
			t.Errorf("%.40s: got %+v, want it refused", body, got)
		}
	}
}
