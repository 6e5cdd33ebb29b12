package claude

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// TestEnvironmentOfTheCLI checks the variables that Env returns for API keys and tokens, and for gateways.
func TestEnvironmentOfTheCLI(t *testing.T) {
	const tools = "ENABLE_TOOL_SEARCH=true"
	for name, c := range map[string]struct {
		access keyproxy.Access
		want   []string
	}{
		"key":     {keyproxy.Access{IsDirect: true}, []string{"ANTHROPIC_API_KEY=CREDENTIAL", "CLAUDE_CODE_OAUTH_TOKEN=", tools}},
		"token":   {keyproxy.Access{IsDirect: true, IsToken: true}, []string{"CLAUDE_CODE_OAUTH_TOKEN=CREDENTIAL", "ANTHROPIC_API_KEY=", tools}},
		"chosen":  {keyproxy.Access{IsDirect: true, Environ: []string{"ENABLE_TOOL_SEARCH=false"}}, []string{"ANTHROPIC_API_KEY=CREDENTIAL", "CLAUDE_CODE_OAUTH_TOKEN="}},
		"gateway": {keyproxy.Access{}, []string{"ANTHROPIC_API_KEY=CREDENTIAL", "CLAUDE_CODE_OAUTH_TOKEN="}},
	} {
		c.access.URL, c.access.Credential = "http://127.0.0.1:1/i", "CREDENTIAL"
		want := append([]string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1/i", "ANTHROPIC_AUTH_TOKEN="}, c.want...)
		assert.Check(t, is.DeepEqual(API{}.Env(c.access), want), name)
	}
}

// TestAnswersAreCounted checks how a response is counted. A web search costs a cent, and other tools of
// the API cost only their tokens. An unknown counter makes the cost unknown.
func TestAnswersAreCounted(t *testing.T) {
	const whole = `{"type":"message","model":"sonnet[1m]","usage":{"input_tokens":1000,"output_tokens":9,"cache_creation_input_tokens":20,"cache_creation":%s,%s}}`
	for rest, want := range map[[2]string]state.Usage{
		{`{"ephemeral_1h_input_tokens":15}`, `"cache_read_input_tokens":300`}:                                {CacheHour: 15, CacheRead: 300},
		{`5`, `"server_tool_use":{"web_search_requests":2,"web_fetch_requests":1,"tool_search_requests":1}`}: {Surcharge: state.Dollar / 50},
		{`null`, `"server_tool_use":{"x_requests":3}`}:                                                       {HasFees: true},
		{`null`, `"iterations":[{"type":"compaction","input_tokens":180000,"output_tokens":3500},{"type":"message","input_tokens":1000,"output_tokens":9,"x_tokens":1}]`}: {
			Input: 180_000, Output: 3500, HasFees: true,
		},
	} {
		want = state.Usage{Model: "sonnet", Input: 1000, Output: 9, CacheWrite: 20}.Plus(want)
		var c counter
		if c.Whole(fmt.Appendf(nil, whole, rest[0], rest[1])); c.Message().Usage != want {
			t.Errorf("%s: got %+v, want %+v", rest, c.Message().Usage, want)
		}
	}
}

// TestRequestsWithoutAResponseCostTheReservedAmount checks that a request that got no response costs the
// reserved amount, even if the result record contains only a total cost.
func TestRequestsWithoutAResponseCostTheReservedAmount(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}))
	defer upstream.Close()
	p, err := keyproxy.Start(keyproxy.Options{
		Vendors: []keyproxy.Vendor{{API: API{}, Upstream: upstream.URL, Credential: keyproxy.Credential{Text: "real"}}},
		Price:   func(string) (state.Price, bool) { return state.Price{Output: 1e5}, true },
	})
	assert.NilError(t, err)
	defer p.Close()
	c := costs{proxy: p.Open("claude", "mark"), last: &result{TotalCost: []byte("5")}}
	r, _ := http.NewRequest(http.MethodPost, c.proxy.Access().URL+"/v1/messages", strings.NewReader(`{"model":"m","max_tokens":30}`))
	r.Header.Set("X-Api-Key", c.proxy.Access().Credential)
	answer, err := http.DefaultTransport.RoundTrip(r)
	assert.NilError(t, err)
	answer.Body.Close()
	c.proxy.Close()
	want := []state.Usage{{Model: "m", Surcharge: 3 * state.Dollar}}
	assert.Check(t, is.DeepEqual(c.total().Unreported, want), "beyond the sum")
	assert.Check(t, is.DeepEqual(c.total().Metered, want), "metered")
}
