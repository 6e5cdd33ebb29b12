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
