package claude

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	ct "github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// TestClassesOfErrors holds which errors are waited out, which are tried again
// and counted, and which end the agent. The texts are those of the CLI, and of the
// key proxy where it could not reach the API.
func TestClassesOfErrors(t *testing.T) {
	for _, c := range []struct {
		status     string
		kind, text string
		want       runner.Class
	}{
		{"429", "rate_limit", "API Error: Request rejected (429) · slow down", runner.Service},
		{"429", "rate_limit", "You've hit your session limit · resets 12:41am (UTC)", runner.UsageLimit},
		{"500", "server_error", "API Error: 500 Internal server error", runner.Service},
		{"503", "", "", runner.Service},
		{"529", "overloaded", "API Error: 529 Overloaded.", runner.Service},
		{"null", "overloaded", "API Error: Repeated 529 Overloaded errors.", runner.Service},
		{"null", "unknown", "API Error: Overloaded", runner.Service},
		{"408", "", "API Error: 408 timed out", runner.Service},
		{"null", "unknown", "API Error: Request timed out. Check your internet connection and proxy settings", runner.Service},
		{"null", "server_error", "API Error: Unable to connect to API (ConnectionRefused)", runner.Service},
		{"null", "unknown", "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)", runner.Service},
		{"null", "server_error", "API Error: Unable to connect to API (ECONNRESET)", runner.Service},
		{"null", "unknown", "API Error: Connection closed (UND_ERR_SOCKET)", runner.Service},
		{"502", "server_error", "API Error: 502 reach the API at api.anthropic.com: dial tcp 1.2.3.4:443: connect: connection refused", runner.Service},
		{"502", "server_error", "API Error: 502 reach the API at api.anthropic.com: EOF", runner.Service},
		{"502", "server_error", "API Error: 502 reach the API at x: dial tcp: lookup x: no such host", runner.Transient},
		{"502", "server_error", "API Error: 502 reach the API at x: tls: failed to verify certificate: x509: certificate signed by unknown authority", runner.Transient},
		{"null", "server_error", "API Error: Unable to connect to API (FailedToOpenSocket)", runner.Transient},
		{"null", "unknown", "API Error: Can't reach the API server — check your internet or DNS (ENOTFOUND)", runner.Transient},
		{"null", "unknown", "API Error: Unable to connect to API: Self-signed certificate detected", runner.Transient},
		{"null", "unknown", "API Error: Unable to connect to API: SSL error (ERR_X)", runner.Transient},
		{"null", "unknown", "something else", runner.Transient},
		{"409", "", "API Error: 409 conflict", runner.Transient},
		{"400", "invalid_request", "API Error: 400 bad", runner.Fatal},
		{"401", "authentication_failed", "Invalid API key", runner.Fatal},
		{"402", "", "pay", runner.Fatal},
		{"403", "", "no", runner.Fatal},
		{"404", "model_not_found", "no such model", runner.Fatal},
	} {
		_, f := answerOf(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, start,
			fmt.Sprintf(`{"type":"assistant","error":%q,"message":{"model":"<synthetic>","content":[]}}`, c.kind),
			fmt.Sprintf(`{"type":"result","subtype":"success","is_error":true,"api_error_status":%s,"result":%q,"total_cost_usd":0}`, c.status, c.text))
		if f == nil || f.Class != c.want {
			t.Errorf("status %s, %q, %q: got %v, want class %s", c.status, c.kind, c.text, f, c.want)
		}
	}
}

// TestRefusedCredentialsEndTheCLI: it would ask for minutes with a key that does not
// become valid.
func TestRefusedCredentialsEndTheCLI(t *testing.T) {
	for _, status := range []int{401, 403} {
		ended := false
		s := newStream(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, nil)
		s.abort = func(error) { ended = true }
		fmt.Fprintf(s, "%s\n"+`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":%d,"error":"authentication_failed"}`+"\n", start, status)
		if !ended || s.verdict.early == nil || s.verdict.early.Class != runner.Fatal {
			t.Errorf("%d: ended %v with %v, want a fatal failure at once", status, ended, s.verdict.early)
		}
	}
}

// TestServiceFailuresSayWhenToRetry: the time that the API asked for while the
// invocation ran, and for no other class of failure.
func TestServiceFailuresSayWhenToRetry(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer api.Close()
	p, err := keyproxy.Start(keyproxy.Options{Vendors: []keyproxy.Vendor{{API: API{}, Upstream: api.URL, Credential: keyproxy.Credential{Text: "k"}}}})
	must(t, err)
	defer p.Close()
	for status, isService := range map[int]bool{503: true, 400: false} {
		b := play(t, ct.Init(), ct.Line(fmt.Sprintf(`{"type":"result","subtype":"success","is_error":true,"api_error_status":%d,"result":"no"}`, status)))
		b.Proxy = p
		// The stub asks nothing, so somebody else does while it runs.
		_, err := b.Run(t.Context(), order(t, "hello"), func(pr runner.Progress) {
			if pr.Doing != "" {
				askThrough(t, p)
			}
		})
		var f *runner.Failure
		if !errors.As(err, &f) || f.NotBefore.IsZero() == isService || isService && time.Until(f.NotBefore) < 50*time.Minute {
			t.Errorf("%d: got %+v, want a time to wait for: %v", status, f, isService)
		}
	}
}

// askThrough asks the API through a proxy, as the CLI does.
func askThrough(t *testing.T, p *keyproxy.Proxy) {
	t.Helper()
	account := p.Open(protocol.BackendClaude, "")
	defer account.Close()
	vars := map[string]string{}
	for _, entry := range account.Env() {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, vars["ANTHROPIC_BASE_URL"]+"/v1/messages", strings.NewReader("{}"))
	must(t, err)
	r.Header.Set("X-Api-Key", vars["ANTHROPIC_API_KEY"])
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("asked through the proxy: got status %d, want 503", answer.StatusCode)
	}
}
