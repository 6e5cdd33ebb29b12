package codex

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// TestWhatTheKeyOpens: what Codex needs, and no more. Tools know the credential too.
func TestWhatTheKeyOpens(t *testing.T) {
	for asked, want := range map[string]keyproxy.Service{
		"POST /responses": keyproxy.Paid, "POST /responses/compact": keyproxy.Paid, "GET /models": keyproxy.Free, "GET /models/gpt-5.5": keyproxy.Free,
		"GET /responses": keyproxy.Refused, "GET /responses/resp_1": keyproxy.Refused, "POST /responses/": keyproxy.Refused, "POST /chat/completions": keyproxy.Refused,
		"GET /models/..": keyproxy.Refused, "GET /models/%2e%2e": keyproxy.Refused, "DELETE /models/x": keyproxy.Refused, "GET /files": keyproxy.Refused,
		"POST /batches": keyproxy.Refused, "POST /images/generations": keyproxy.Refused, "GET /organization/costs": keyproxy.Refused,
		"POST /v1/responses": keyproxy.Refused, "POST /%72esponses": keyproxy.Refused, "POST /responses/resp_1/cancel": keyproxy.Refused, "POST /realtime/sessions": keyproxy.Refused,
	} {
		method, path, _ := strings.Cut(asked, " ")
		if got := (API{}).Service(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("%s: got %v, want %v", asked, got, want)
		}
	}
}

// TestWhatCannotBeCountedIsNotForwarded: answers in the background, whose tokens another
// request would tell, requests that can't be read, and those that name something twice.
func TestWhatCannotBeCountedIsNotForwarded(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/responses", nil)
	want := keyproxy.Request{Model: "gpt-5.5", Output: 7}
	if got, err := (API{}).Read(r, strings.NewReader(`{"model":"gpt-5.5","max_output_tokens":7,"background":false,"service_tier":"auto"}`)); !cmp.Equal(got, want) || err != nil {
		t.Errorf("a request: got %+v, %v, want %+v", got, err, want)
	}
	for _, body := range []string{
		`{}`, `{"model":5}`, `{"model":"gpt-5.5","background":true}`, `{"model":"gpt-5.5","previous_response_id":"r"}`, `{"model":"gpt-5.5","conversation":{"id":"c"}}`, `{"MODEL":"gpt-5.5"}`, `{"model":"gpt-5.5","service_tier":"priority"}`,
	} {
		if got, err := (API{}).Read(r, strings.NewReader(body)); err == nil {
			t.Errorf("%s: got %+v, want a reason not to forward it", body, got)
		}
	}
	r.Header.Set("Content-Encoding", "zstd")
	if _, err := (API{}).Read(r, strings.NewReader(`{"model":"gpt-5.5"}`)); err == nil {
		t.Error("a packed request: got no reason not to forward it")
	}
}

func TestTheCredentialIsReplaced(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/responses", nil)
	r.Header.Set("Authorization", "Bearer local")
	if got := (API{}).Shown(r); len(got) != 1 || got[0] != "local" {
		t.Errorf("shown: got %q, want the local credential", got)
	}
	API{}.Sign(r, keyproxy.Credential{Text: "real"})
	if got := r.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer real" {
		t.Errorf("signed: got %q, want the real one alone", got)
	}
}

// TestWhatTheCLIDoesNotTellIsBooked: what a tool has asked for by itself, and nobody could count, costs what was
// reserved, beside what the CLI tells.
func TestWhatTheCLIDoesNotTellIsBooked(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"x":"`+strings.Repeat("x", 5<<20))
	}))
	defer upstream.Close()
	p, err := keyproxy.Start(keyproxy.Options{Vendors: []keyproxy.Vendor{{API: API{}, Upstream: upstream.URL, Credential: keyproxy.Credential{Text: "real"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	account := p.Open("codex", "mark")
	r, _ := http.NewRequest(http.MethodPost, account.Access().URL+"/responses", strings.NewReader(`{"model":"m","max_output_tokens":70}`))
	r.Header.Set("Authorization", "Bearer "+account.Access().Credential)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	account.Close()
	a := runner.Answer{Cost: state.Cost{Kind: state.InTokens, Usage: []state.ModelCost{{Usage: state.Usage{Model: "m", Input: 1, Output: 2}}}}}
	metered(&a, account)
	if want := []state.Usage{{Model: "m", Input: 11, Output: 68}}; !cmp.Equal(a.Cost.Beyond, want) {
		t.Errorf("got %+v, want %+v", a.Cost.Beyond, want)
	}
}
