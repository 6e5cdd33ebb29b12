package codex

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
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
		`{}`, `{"model":5}`, `{"model":"gpt-5.5","background":true}`, `{"MODEL":"gpt-5.5"}`, `{"model":"gpt-5.5","service_tier":"priority"}`,
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
