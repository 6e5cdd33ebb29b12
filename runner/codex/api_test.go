package codex

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// TestServicesOfTheAPI holds what tools can do with the key: what the CLI needs, and
// nothing else that it may open.
func TestServicesOfTheAPI(t *testing.T) {
	for asked, want := range map[string]keyproxy.Service{
		"POST /responses": keyproxy.Paid, "POST /responses/compact": keyproxy.Paid, "GET /models": keyproxy.Free, "GET /models/gpt-5.1": keyproxy.Free,

		"GET /responses": keyproxy.Refused, "GET /responses/resp_1": keyproxy.Refused, "POST /responses/resp_1/cancel": keyproxy.Refused,
		"POST /chat/completions": keyproxy.Refused, "POST /v1/responses": keyproxy.Refused, "GET /files": keyproxy.Refused, "POST /batches": keyproxy.Refused,
		"DELETE /models/ft": keyproxy.Refused, "GET /models/..": keyproxy.Refused, "GET /models/%2e%2e%2ffiles": keyproxy.Refused,
		"POST /%72esponses": keyproxy.Refused, "POST /realtime/sessions": keyproxy.Refused,
	} {
		method, path, _ := strings.Cut(asked, " ")
		if got := (API{}).Service(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("%s: got service %d, want %d", asked, got, want)
		}
	}
}

// TestRequestsThatCannotBeCountedAreRefused: answers in the background, whose tokens another
// request would tell, requests that can't be read, and those with two models.
func TestRequestsThatCannotBeCountedAreRefused(t *testing.T) {
	for body, want := range map[string]string{
		`{"input":[{"model":"x"}],"model":"gpt-5.1","background":false}`: "gpt-5.1", `{"model":"gpt-5.1","background":null}`: "gpt-5.1",
		`{"model":"gpt-5.1","background":true}`: "", `{"background":true,"model":"gpt-5.1","background":false}`: "",
		`{"model":"gpt-5.1","model":"gpt-5.1-pro"}`: "", `{"MODEL":"gpt-5.1"}`: "", `{}`: "", `[]`: "", `{"model":"gpt-5.1"}{"background":true}`: "", ``: "",
	} {
		got, err := API{}.Model(httptest.NewRequest("POST", "/responses", nil), strings.NewReader(body))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", body, got, err, want)
		}
	}
	packed := httptest.NewRequest("POST", "/responses", nil)
	packed.Header.Set("Content-Encoding", "zstd")
	if got, err := (API{}).Model(packed, strings.NewReader(`{"model":"gpt-5.1"}`)); err == nil {
		t.Errorf("packed: got %q, want an error", got)
	}
}

// TestCredentialIsReplaced: whatever a request shows, the API gets the real one alone.
func TestCredentialIsReplaced(t *testing.T) {
	r := httptest.NewRequest("POST", "/responses", nil)
	r.Header = http.Header{"Authorization": {"Bearer one"}}
	if diff := cmp.Diff([]string{"one"}, API{}.Shown(r)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	API{}.Sign(r, keyproxy.Credential{Text: "real"})
	if diff := cmp.Diff(http.Header{"Authorization": {"Bearer real"}}, r.Header); diff != "" {
		t.Errorf("signed (-want +got):\n%s", diff)
	}
}
