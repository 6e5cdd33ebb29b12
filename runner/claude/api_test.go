package claude

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

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
		if diff := cmp.Diff(want, API{}.Env(c.access)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestServicesOfTheAPI holds what tools can do with the key: what the CLI needs, and
// nothing else that it may open.
func TestServicesOfTheAPI(t *testing.T) {
	for asked, want := range map[string]keyproxy.Service{
		"POST /v1/messages": keyproxy.Paid, "POST /v1/messages?beta=true": keyproxy.Paid,
		"POST /v1/messages/count_tokens": keyproxy.Free, "GET /v1/models": keyproxy.Free, "GET /v1/models?limit=1000": keyproxy.Free,
		"GET /v1/models/claude-x-4.5": keyproxy.Free,

		"GET /v1/files": keyproxy.Refused, "POST /v1/messages/batches": keyproxy.Refused, "GET /v1/models/..": keyproxy.Refused,
		"POST /v1/models/../messages": keyproxy.Refused, "GET /v1/models/%2e%2e%2ffiles": keyproxy.Refused,
		"GET /v1/models/%252e%252e%252ffiles": keyproxy.Refused, "POST /v1/%6dessages": keyproxy.Refused, "POST /messages": keyproxy.Refused,
		"DELETE /v1/messages": keyproxy.Refused, "GET /v1/messages": keyproxy.Refused, "POST /v1/messages/": keyproxy.Refused,
	} {
		method, path, _ := strings.Cut(asked, " ")
		if got := (API{}).Service(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("%s: got service %d, want %d", asked, got, want)
		}
	}
}

// TestCredentialIsReplaced: whatever a request shows, the API gets the real one alone.
func TestCredentialIsReplaced(t *testing.T) {
	for _, c := range []struct {
		real keyproxy.Credential
		want http.Header
	}{
		{keyproxy.Credential{Text: "real"}, http.Header{"X-Api-Key": {"real"}}},
		{keyproxy.Credential{Text: "real", IsToken: true}, http.Header{"Authorization": {"Bearer real"}}},
	} {
		r := httptest.NewRequest("POST", "/v1/messages", nil)
		r.Header = http.Header{"X-Api-Key": {"one"}, "Authorization": {"Bearer two"}}
		if diff := cmp.Diff([]string{"one", "two"}, API{}.Shown(r)); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
		API{}.Sign(r, c.real)
		if diff := cmp.Diff(c.want, r.Header); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.real, diff)
		}
	}
}
