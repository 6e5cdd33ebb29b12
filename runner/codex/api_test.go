package codex

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// TestUnreportedCostsAreAdded checks the cost of a request that a command has sent with the proxy's
// credential, and whose tokens could not be counted. Its reserved amount must be added to the cost
// that the CLI reports.
func TestUnreportedCostsAreAdded(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"x":"`)
	}))
	defer upstream.Close()
	p, err := keyproxy.Start(keyproxy.Options{Vendors: []keyproxy.Vendor{{API: API{}, Upstream: upstream.URL, Credential: keyproxy.Credential{Text: "real"}}}, Price: func(string) (state.Price, bool) {
		return state.Price{Input: 1e4, Output: 1e5}, true
	}})
	assert.NilError(t, err)
	defer p.Close()
	account := p.Open("codex", "mark")
	r, _ := http.NewRequest(http.MethodPost, account.Access().URL+"/responses", strings.NewReader(`{"model":"m","max_output_tokens":70}`))
	r.Header.Set("Authorization", "Bearer "+account.Access().Credential)
	answer, err := http.DefaultTransport.RoundTrip(r)
	assert.NilError(t, err)
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	account.Close()
	a := runner.Answer{Cost: state.Cost{Kind: state.InTokens, Usage: []state.ModelCost{{Usage: state.Usage{Model: "m", Input: 1, Output: 2}}}}}
	addMetered(&a, account)
	// The amount is for 36 bytes of the request and 70 tokens of output.
	assert.Check(t, is.DeepEqual(a.Cost.Unreported, []state.Usage{{Model: "m", Surcharge: 736 * state.Dollar / 100}}))
}

const (
	begun  = `{"type":"response.created","response":{"id":"r1","object":"response","status":"in_progress","usage":null}}`
	wrote  = `{"type":"response.output_text.delta","delta":"12345678"}`
	counts = `"usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":300,"cache_write_tokens":100},"output_tokens":50,` +
		`"output_tokens_details":{"reasoning_tokens":20},"total_tokens":1050}`
	completed = `{"type":"response.completed","response":{"id":"r1","model":"m-2026-01-01","output":[{"text":"\"usage\":{\"input_tokens\":1}"}],` + counts + `}}`
)

// TestAnswersAreCounted checks the tokens that are counted for responses. Cached tokens are part of
// the input and must not be counted twice. For a response that breaks off, nothing must be counted.
// The tokens must be assigned to the requested model.
func TestAnswersAreCounted(t *testing.T) {
	all := keyproxy.Sum{Usage: state.Usage{Model: "m", Input: 600, Output: 50, CacheRead: 300, CacheWrite: 100}}
	metadata := `,"user":null,"metadata":{"usage":"{\"input_tokens\":1}"}}}`
	for name, c := range map[string]struct {
		events []string
		want   keyproxy.Sum
		whole  string // a response that is not streamed, instead of events
	}{
		"ended":        {events: []string{begun, wrote, completed}, want: all},
		"incomplete":   {events: []string{begun, strings.Replace(completed, "completed", "incomplete", 1)}, want: all},
		"broken off":   {events: []string{begun, wrote, wrote}},
		"at once":      {events: []string{begun}},
		"failed":       {events: []string{begun, `{"type":"response.failed","response":{"usage":null,"error":{"code":"server_is_overloaded"}}}`}},
		"an error":     {events: []string{`{"type":"error","code":"x"}`}},
		"no JSON":      {events: []string{"\xff{", `"usage"`}},
		"no numbers":   {events: []string{begun, `{"type":"response.completed","response":{"usage":{"input_tokens":"1000","output_tokens":-5}}}`}},
		"a forged one": {events: []string{begun, `{"type":"response.completed","response":{"tools":[{"parameters":{"usage":{"input_tokens":1}}}],` + counts + metadata}, want: all},
		"a cut event":  {events: []string{begun, counts[:20]}},
		"whole":        {whole: `{"id":"r","object":"response",` + counts + `}`, want: all},
		"another one":  {whole: `{"object":"list",` + counts + `}`},
	} {
		n := &counter{keyproxy.FinalCounter{Model: "m", Layout: apiLayout}}
		for _, e := range c.events {
			n.Event([]byte(e))
		}
		if c.whole != "" {
			n.Whole([]byte(c.whole))
		}
		got := keyproxy.Sum{}
		if n.Message() != nil {
			got = keyproxy.Sums{}.Add(n.Message())["m"]
		}
		assert.Check(t, is.Equal(got, c.want), name)
	}
}
