package clis

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner/claude"
	"github.com/raymond-action/raymond-action/runner/codex"
	"github.com/raymond-action/raymond-action/runner/gemini"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// geminiModel is the start of the path of requests to a Gemini model.
const geminiModel = "/v1beta/models/gemini-3.1-pro:"

// requestClasses lists requests for each API and each class, separated by commas.
var requestClasses = map[keyproxy.API]map[keyproxy.RequestClass]string{
	claude.API{}: {
		keyproxy.Paid: "POST /v1/messages, POST /v1/messages?beta=true",
		keyproxy.Free: "POST /v1/messages/count_tokens, GET /v1/models, GET /v1/models?limit=1000, GET /v1/models/claude-x-4.5",
		keyproxy.Refused: "GET /v1/files, POST /v1/messages/batches, GET /v1/models/.., POST /v1/models/../messages, GET /v1/models/%2e%2e%2ffiles, " +
			"GET /v1/models/%252e%252e%252ffiles, POST /v1/%6dessages, POST /messages, DELETE /v1/messages, GET /v1/messages, POST /v1/messages/",
	},
	codex.API{}: {
		keyproxy.Paid: "POST /responses, POST /responses/compact",
		keyproxy.Free: "GET /models, GET /models/gpt-5.5",
		keyproxy.Refused: "GET /responses, GET /responses/resp_1, POST /responses/, POST /chat/completions, GET /models/.., GET /models/%2e%2e, DELETE /models/x, " +
			"GET /files, POST /batches, POST /images/generations, GET /organization/costs, POST /v1/responses, POST /%72esponses, " +
			"POST /responses/resp_1/cancel, POST /realtime/sessions",
	},
	gemini.API{}: {
		keyproxy.Paid: "POST " + geminiModel + "generateContent, POST " + geminiModel + "streamGenerateContent?alt=sse, POST /v1/models/x:generateContent?alt=json&fields=candidates",
		keyproxy.Free: "POST " + geminiModel + "countTokens",
		keyproxy.Refused: "GET " + geminiModel + "generateContent, POST " + geminiModel + "batchGenerateContent, POST " + geminiModel + "embedContent, GET /v1beta/files, " +
			"POST /v1beta/cachedContents, GET /v1beta/models, POST /v1beta/tunedModels/x:generateContent, POST /v1beta/models/..:generateContent, " +
			"POST /v1beta/models/a%2fb:generateContent, POST /v1beta/models/x%3agenerateContent, POST " + geminiModel + "generateContent/, " +
			"POST " + geminiModel + "generateContent?alt=proto, POST " + geminiModel + "generateContent?alt=sse&alt=proto",
	},
}

// TestOnlyNeededRequestsAreForwarded checks how each API classifies requests. The key proxy must
// forward only the requests that a CLI needs, since commands that the agent runs can use the
// proxy's credential as well.
func TestOnlyNeededRequestsAreForwarded(t *testing.T) {
	for api, of := range requestClasses {
		for want, list := range of {
			for request := range strings.SplitSeq(list, ", ") {
				method, path, _ := strings.Cut(request, " ")
				got := api.Classify(httptest.NewRequest(method, path, nil))
				assert.Check(t, got == want, "%s: %s: got service %d, want %d", api.Backend(), request, got, want)
			}
		}
	}
}

// TestCredentialsAreReplaced checks that a signed request contains only the real credential,
// whatever the CLI has sent. It must not contain query parameters that would hide the token counts
// in the response.
func TestCredentialsAreReplaced(t *testing.T) {
	for _, c := range []struct {
		api         keyproxy.API
		real        keyproxy.Credential
		target      string
		sent, want  http.Header
		shown       []string
		wantsTarget string
	}{
		{claude.API{}, keyproxy.Credential{Text: "real"}, "/v1/messages", http.Header{"X-Api-Key": {"one"}, "Authorization": {"Bearer two"}},
			http.Header{"X-Api-Key": {"real"}}, []string{"one", "two"}, "/v1/messages"},
		{claude.API{}, keyproxy.Credential{Text: "real", IsToken: true}, "/v1/messages", http.Header{"X-Api-Key": {"one"}, "Authorization": {"Bearer two"}},
			http.Header{"Authorization": {"Bearer real"}}, []string{"one", "two"}, "/v1/messages"},
		{codex.API{}, keyproxy.Credential{Text: "real"}, "/responses", http.Header{"Authorization": {"Bearer one"}},
			http.Header{"Authorization": {"Bearer real"}}, []string{"one"}, "/responses"},
		{gemini.API{}, keyproxy.Credential{Text: "real"}, "/v1beta/models/x:streamGenerateContent?key=two&alt=sse&fields=candidates&$fields=x&access_token=y",
			http.Header{"X-Goog-Api-Key": {"one"}, "Authorization": {"Bearer three"}, "X-Goog-Api-Client": {"genai-js"}},
			http.Header{"X-Goog-Api-Key": {"real"}, "X-Goog-Api-Client": {"genai-js"}}, []string{"one", "two", "three"}, "/v1beta/models/x:streamGenerateContent?alt=sse"},
	} {
		r := httptest.NewRequest(http.MethodPost, c.target, nil)
		r.Header = c.sent
		d := cmp.Diff(c.shown, c.api.ShownCredentials(r))
		assert.Check(t, d == "", "%s: shown (-want +got):\n%s", c.api.Backend(), d)
		c.api.Sign(r, c.real)
		if d := cmp.Diff(c.want, r.Header); d != "" || r.URL.String() != c.wantsTarget {
			t.Errorf("%s: signed: got %s, headers (-want +got):\n%s", c.api.Backend(), r.URL, d)
		}
	}
}

// TestUncountableRequestsAreRejected checks that requests whose cost can't be computed from the
// response are rejected: requests with an unknown field or no model, with another price, in the
// background, for several candidates, or with a compressed body.
func TestUncountableRequestsAreRejected(t *testing.T) {
	for _, c := range []struct {
		api    keyproxy.API
		target string
		read   map[string]keyproxy.Request
		bad    []string
	}{
		{codex.API{}, "/responses", map[string]keyproxy.Request{
			`{"model":"gpt-5.5","max_output_tokens":7,"background":false,"service_tier":"auto"}`: {Model: "gpt-5.5", MaxOutput: 7},
			`{"model":"m","previous_response_id":"r"}`:                                           {Model: "m", IsUnbounded: true},
		}, []string{
			`{}`, `{"model":5}`, `{"model":"gpt-5.5","background":true}`, `{"MODEL":"gpt-5.5"}`, `{"model":"gpt-5.5","service_tier":"priority"}`,
		}},
		{gemini.API{}, "/v1beta/models/x:streamGenerateContent", map[string]keyproxy.Request{
			`{"contents":[]}`: {Model: "x"}, `{"generationConfig":{"maxOutputTokens":9,"candidateCount":1}}`: {Model: "x", MaxOutput: 9},
		}, []string{`{"generationConfig":{"candidateCount":2}}`, `{"generation_config":{"candidate_count":8}}`}},
	} {
		r := httptest.NewRequest(http.MethodPost, c.target, nil)
		for body, want := range c.read {
			got, err := c.api.Read(r, strings.NewReader(body))
			assert.Check(t, cmp.Equal(got, want) && err == nil, "%s: got %+v, %v, want %+v", body, got, err, want)
		}
		for _, body := range c.bad {
			got, err := c.api.Read(r, strings.NewReader(body))
			assert.Check(t, err != nil, "%s: got %+v, want a reason not to forward it", body, got)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/responses", nil)
	r.Header.Set("Content-Encoding", "zstd")
	_, err := (codex.API{}).Read(r, strings.NewReader(`{"model":"gpt-5.5"}`))
	assert.Check(t, err != nil, "a packed request: got no reason not to forward it")
}
