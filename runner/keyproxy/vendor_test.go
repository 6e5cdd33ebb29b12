package keyproxy

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// TestVendorsAreSeparate checks that the address and the credential of an invocation give no access to the
// API of another vendor. It also checks that each API receives its own key and the path of its URL, whether
// the client sent the credential as a key or as a token.
func TestVendorsAreSeparate(t *testing.T) {
	one, toOne := api(t, nil)
	two, toTwo := api(t, nil)
	both := append(vendors(one.URL), Vendor{API: toyAPI{"other"}, Upstream: two.URL + "/gateway/", Credential: Credential{Text: "key-of-the-other\n"}})
	p := start(t, Options{Vendors: both})
	a, b := p.Open(toy, ""), p.Open("other", "")
	for path, status := range map[string]int{
		"/i/other/" + a.token + "/v1/messages": 401, "/i/toy/" + b.token + "/v1/messages": 401, "/i/other/" + b.token + "/v1/messages": 401,
		"/i/toy/" + a.token + "/../../other/" + b.token + "/v1/messages": 404, "/i/toy/" + a.token + "/v1/messages": 200,
	} {
		answer, body := ask(t, p, func(r *http.Request) {
			r.URL.Opaque = "//" + p.address + path
			r.Header.Set("X-Api-Key", a.credential)
		})
		assert.Check(t, is.Equal(answer.StatusCode, status), "%s: got %s %s, want %d", path, answer.Status, body, status)
	}
	assert.Check(t, is.Len(toTwo.all(), 0), "what the other API got")
	ask(t, p, func(r *http.Request) {
		*r = *request(b, "POST", "/v1/messages?beta=true", strings.NewReader("ping"))
		r.Header.Set("Anthropic-Beta", "a,b")
		bearer(b.credential)(r)
	})
	assert.Check(t, is.Contains(toOne.all()[0], `key="`+realKey+`" auth="" `))
	assert.Check(t, is.DeepEqual(toTwo.all(), []string{`POST /gateway/v1/messages?beta=true a,b[identity] key="key-of-the-other" auth="" ping`}))
}

// TestModelsWithoutAPriceAreRefused checks that a model without a known price is rejected if there is a
// budget, because its costs could not be subtracted, and is forwarded otherwise.
func TestModelsWithoutAPriceAreRefused(t *testing.T) {
	p, got := startMetered(t)
	for budget, want := range map[state.USD]map[string]int{
		10 * responseCost: {`{"model":"sonnet"}`: 200, `{"model":"other"}`: 400, `{"later":true}`: 400},
		state.MaxUSD:      {`{"model":"sonnet"}`: 200, `{"model":"other"}`: 200, `{"later":true}`: 400},
	} {
		p.SetAllowance(budget, []string{"one"})
		a := p.Open(toy, "one")
		for body, status := range want {
			before := len(got.all())
			answer, text := ask(t, p, func(r *http.Request) { forAccount(a)(r); setBody(r, []byte(body)) })
			assert.Check(t, answer.StatusCode == status && (len(got.all()) > before) == (status == 200), "budget %s, %s: got %s %s, want %d", budget, body, answer.Status, text, status)
		}
		a.Close()
	}
}
