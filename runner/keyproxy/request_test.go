package keyproxy

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if got, err := f.Read(strings.NewReader(body)); !cmp.Equal(got, want) || err != nil {
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

// TestWhatTheVendorRunsIsKnown, in whatever form it is asked for, and what the client runs is not taken for it.
func TestWhatTheVendorRunsIsKnown(t *testing.T) {
	f := Fields{Client: []string{"bash"}, Services: []string{"mcp_servers", "prompt"}, Opaque: []string{"args"}}
	for body, want := range map[string][]string{
		`{"tools":[{"name":"x","input_schema":{}},{"type":"custom","name":"y"},{"type":"function"},{"type":"bash_20250124"},{"parameters":{}}]}`: nil,
		`{"tools":[{"type":"shell","environment":{"type":"local"}},{"functionDeclarations":[{"name":"x"}]},{"function_declarations":[]}]}`:       nil,
		`{"tools":[{"type":"web_search_20250305","name":"web_search"},{"type":"code_execution"}]}`:                                               {"code_execution", "web_search"},
		`{"tools":[{"type":"shell"},{"type":"shell","environment":{"type":"container"}},{"type":"shell","environment":"local"}]}`:                {"shell", "shell", "shell"},
		`{"tools":[{"functionDeclarations":[],"googleSearch":{}}]}`:                                                                              {"googleSearch"},
		`{"tools":[{"type":"namespace","tools":[{"type":"function"},{"type":"mcp"}]}]}`:                                                          {"mcp"},
		`{"input":[{"type":"additional_tools","tools":[{"type":"web_search"}]}]}`:                                                                {"web_search"},
		`{"messages":[{"args":{"tools":[{"type":"web_search"}]}}],"properties":{"tools":{"type":"array"}},"tools":null}`:                         nil,
		`{"mcp_servers":[{"url":"https://x"}],"prompt":{"id":"p"},"x":{"prompt":"y"}}`:                                                           {"mcp_servers", "prompt"},
		`{"prompt":"pmpt_1"}`: {"prompt"},
		`{"tools":[{"type":5,"name":"x","input_schema":{}}]}`: {""},
		`{"tools":[{"name":"no schema"}]}`:                    {"name"},
	} {
		got, err := f.Read(strings.NewReader(body))
		slices.Sort(got.Uses)
		if !slices.Equal(got.Uses, want) || err != nil {
			t.Errorf("%s: got %q, %v, want %q", body, got.Uses, err, want)
		}
	}
	for _, body := range []string{`{"tools":["web_search"]}`, `{"tools":[[{"type":"web_search"}]]}`, `{"tools":[{"tools":5}]}`} {
		if got, err := f.Read(strings.NewReader(body)); err == nil {
			t.Errorf("%s: got %+v, want it refused", body, got)
		}
	}
}

// TestWhatTheVendorRunsPassesByName alone.
func TestWhatTheVendorRunsPassesByName(t *testing.T) {
	upstream, got := api(t, nil)
	p := start(t, Options{Vendors: vendors(upstream.URL), Tools: []string{"web_search"}})
	for body, status := range map[string]int{`{"uses":["web_search"]}`: 200, `{"uses":["web_search","mcp"]}`: 400} {
		a := p.Open(toy, "one")
		if answer, text := ask(t, p, func(r *http.Request) { of(a)(r); setBody(r, []byte(body)) }); answer.StatusCode != status {
			t.Errorf("%s: got %s %s, want %d", body, answer.Status, text, status)
		}
	}
	if n := len(got.all()); n != 1 {
		t.Errorf("the API got %d requests, want one", n)
	}
}
