//go:build unix

package command_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// realKey is the API key that the program must not see.
const realKey = "sk-of-the-job"

// requestScript is a shell script that sends a request to the API through the proxy and prints nothing.
const requestScript = `url=${ANTHROPIC_BASE_URL#http://}
	exec 3<>"/dev/tcp/${url%%:*}/$(port=${url#*:}; echo "${port%%/*}")"
	body='{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[]}'
	printf 'POST /%s/v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
		"${url#*/}" "$ANTHROPIC_API_KEY" "${#body}" "$body" >&3
	cat <&3 >answer
`

// newProxied returns a fixture whose program calls an API through a key proxy. keys returns the keys
// that the API has received.
func newProxied(t *testing.T, cmd string) (p *fixture, keys func() []string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header.Get("X-Api-Key"))
		mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"m1","type":"message","model":"claude-sonnet-4-5","usage":{"input_tokens":1000,"output_tokens":20}}`)
	}))
	t.Cleanup(api.Close)
	p = newFixture(t, requestScript+cmd)
	proxy, err := keyproxy.Start(keyproxy.Options{Vendors: []keyproxy.Vendor{
		{API: claude.API{}, Upstream: api.URL, Credential: keyproxy.Credential{Text: realKey}},
	}, Price: func(string) (state.Price, bool) { return state.Price{Input: 1e4}, true }})
	assert.NilError(t, err)
	t.Cleanup(func() { _ = proxy.Close() })
	p.backend.Proxy = proxy
	return p, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

// TestOutputDoesNotChangeProxyCounts checks that a program can't reduce its metered cost with its
// output, whether it prints a cost of zero, other or fewer tokens, nothing, or an error.
func TestOutputDoesNotChangeProxyCounts(t *testing.T) {
	t.Parallel()
	counted := []state.Usage{{Model: "claude-sonnet-4-5", Input: 1000, Output: 20}}
	for output, want := range map[string]state.Cost{
		`echo done`: {Unreported: counted},
		`echo '{"type":"error","class":"authentication"}'`: {Unreported: counted},
		`:`:                              {Unreported: counted},
		`echo '{"type":"cost","usd":0}'`: {Kind: state.Exact},
		`echo '{"type":"cost","model":"another","input":1}'`: {
			Kind: state.InTokens, Usage: []state.ModelCost{{Usage: state.Usage{Model: "another", Input: 1}}}, Unreported: counted,
		},
		`echo '{"type":"cost","model":"claude-sonnet-4-5-20250929","input":400,"output":20}'`: {
			Kind: state.InTokens, Usage: []state.ModelCost{{Usage: state.Usage{Model: "claude-sonnet-4-5-20250929", Input: 400, Output: 20}}},
			Unreported: []state.Usage{{Model: "claude-sonnet-4-5", Input: 600}},
		},
	} {
		p, keys := newProxied(t, output)
		a, _ := p.run(fresh("x"))
		want.Metered = counted
		assert.Check(t, is.DeepEqual(a.Cost, want), "%s: cost", output)
		assert.Check(t, is.DeepEqual(keys(), []string{realKey}), "%s: keys that the API saw", output)
	}
}

// TestProgramsDontSeeTheKey checks that the program gets a credential for the proxy instead of the key.
// It also checks that the proxy's address is among the program's needs, and that tokens are reported
// while the program runs.
func TestProgramsDontSeeTheKey(t *testing.T) {
	t.Parallel()
	p, _ := newProxied(t, `env; cat answer`)
	assert.Check(t, is.DeepEqual(p.backend.Needs().Hosts, []string{p.backend.Proxy.Address()}), "hosts that the program needs")
	var mu sync.Mutex
	var metered runner.MeteredUsage
	o := runner.Order{Dir: p.dir, Mark: "command-key", Prompt: fresh("x")}
	a, f := result(p.backend.Run(t.Context(), o, func(progress runner.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if progress.Metered != nil {
			metered = *progress.Metered
		}
	}))
	if f != nil || strings.Contains(a.Text, realKey) || !strings.Contains(a.Text, "ANTHROPIC_API_KEY=raymond-") {
		t.Errorf("what the program sees: got %v, %s\nwant a key that is none", f, a.Text)
	}
	mu.Lock()
	defer mu.Unlock()
	assert.Assert(t, is.Len(metered, 1), "tokens that were reported")
	assert.Check(t, metered[0].Input == 1000, "tokens that were reported: got %+v, want those of the answer", metered)
}

// TestExhaustedBudgetTakesPrecedence checks that the failure names an exhausted budget, and not the
// error that the program reports because of it.
func TestExhaustedBudgetTakesPrecedence(t *testing.T) {
	t.Parallel()
	p, keys := newProxied(t, `grep -q 'budget of the run is exhausted' answer && echo '{"type":"error","class":"invalid","message":"400"}'`)
	p.backend.Proxy.SetAllowance(0, nil)
	a, f := p.run(fresh("x"))
	assert.Check(t, f != nil && f.Class == runner.OverBudget && len(keys()) == 0, "got %v, %q, want the run's budget used up, and nothing forwarded", f, a.Text)
}
