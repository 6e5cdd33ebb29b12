package gemini

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
	const m = "/v1beta/models/gemini-3.1-pro:"
	for asked, want := range map[string]keyproxy.Service{
		"POST " + m + "generateContent": keyproxy.Paid, "POST " + m + "streamGenerateContent?alt=sse": keyproxy.Paid,
		"POST /v1/models/x:generateContent?alt=json&fields=candidates": keyproxy.Paid,
		"POST " + m + "countTokens":                                    keyproxy.Free,

		"GET " + m + "generateContent": keyproxy.Refused, "POST " + m + "batchGenerateContent": keyproxy.Refused,
		"POST " + m + "embedContent": keyproxy.Refused, "GET /v1beta/files": keyproxy.Refused, "POST /v1beta/cachedContents": keyproxy.Refused,
		"GET /v1beta/models": keyproxy.Refused, "POST /v1beta/tunedModels/x:generateContent": keyproxy.Refused,
		"POST /v1beta/models/..:generateContent": keyproxy.Refused, "POST /v1beta/models/a%2fb:generateContent": keyproxy.Refused,
		"POST /v1beta/models/x%3agenerateContent": keyproxy.Refused, "POST " + m + "generateContent/": keyproxy.Refused,
		"POST " + m + "generateContent?alt=proto": keyproxy.Refused, "POST " + m + "generateContent?alt=sse&alt=proto": keyproxy.Refused,
	} {
		method, path, _ := strings.Cut(asked, " ")
		if got := (API{}).Service(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("%s: got service %d, want %d", asked, got, want)
		}
	}
}

// TestCredentialIsReplaced: whatever a request shows, the API gets the real one alone, and
// nothing by which its answer would lack the count of tokens.
func TestCredentialIsReplaced(t *testing.T) {
	r := httptest.NewRequest("POST", "/v1beta/models/x:streamGenerateContent?key=two&alt=sse&fields=candidates&$fields=x&access_token=y", nil)
	r.Header = http.Header{}
	for name, value := range map[string]string{
		"x-goog-api-key": "one", "Authorization": "Bearer three", "x-goog-fieldmask": "candidates",
		"x-goog-api-client": "genai-js", "Content-Type": "application/json",
	} {
		r.Header.Set(name, value)
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, API{}.Shown(r)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	API{}.Sign(r, keyproxy.Credential{Text: "real"})
	want := http.Header{"X-Goog-Api-Key": {"real"}, "X-Goog-Api-Client": {"genai-js"}, "Content-Type": {"application/json"}}
	if diff := cmp.Diff(want, r.Header); diff != "" || r.URL.RawQuery != "alt=sse" {
		t.Errorf("signed: got query %q, headers (-want +got):\n%s", r.URL.RawQuery, diff)
	}
	for body, want := range map[string]keyproxy.Request{
		`{"contents":[]}`: {Model: "x"}, `{"generationConfig":{"maxOutputTokens":9,"candidateCount":1}}`: {Model: "x", Output: 9},
	} {
		if got, err := (API{}).Read(r, strings.NewReader(body)); !cmp.Equal(got, want) || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", body, got, err, want)
		}
	}
	for _, body := range []string{`{"generationConfig":{"candidateCount":2}}`, `{"generation_config":{"candidate_count":8}}`} {
		if got, err := (API{}).Read(r, strings.NewReader(body)); err == nil {
			t.Errorf("%s: got %+v, want a reason not to forward it", body, got)
		}
	}
}
