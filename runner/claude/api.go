package claude

import (
	"io"
	"net/http"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// API is Anthropic's API, as the key proxy knows it.
type API struct{}

var _ keyproxy.API = API{}

// Backend implements keyproxy.API.
func (API) Backend() string { return protocol.BackendClaude }

// Upstream implements keyproxy.API.
func (API) Upstream() string { return "https://api.anthropic.com" }

// messagesPath is where the API answers with what costs money.
const messagesPath = "/v1/messages"

// modelPath is the path of one model: no dots alone, nothing escaped.
var modelPath = text.Regexp(`^/v1/models/[A-Za-z0-9][A-Za-z0-9._:@-]*$`)

// Classify implements keyproxy.API. Tools know the credential too: what else the key may
// open, like the files and batches of others, is not for them.
func (API) Classify(r *http.Request) keyproxy.RequestClass {
	asked := r.URL.EscapedPath()
	isPost, isGet := r.Method == http.MethodPost, r.Method == http.MethodGet
	switch {
	case isPost && asked == messagesPath:
		return keyproxy.Paid
	case isPost && asked == messagesPath+"/count_tokens", isGet && (asked == "/v1/models" || modelPath().MatchString(asked)):
		return keyproxy.Free
	}
	return keyproxy.Refused
}

// fields are those of a request that say what an answer may cost.
var fields = keyproxy.RequestFields{
	Model: "model", Output: []string{"max_tokens"}, PriceFactors: []string{"service_tier", "speed", "inference_geo"},
	// A search among the tools of the request itself reaches nothing.
	ClientTools:    []string{"custom", "bash", "text_editor", "computer", "memory", "tool_search_tool_regex", "tool_search_tool_bm25"},
	VendorServices: []string{"mcp_servers", "container"}, Opaque: []string{"input"}, Pictures: []string{"messages.content.source", "messages.content.content.source"},
	Known: []string{
		"cache_control", "container", "context_management", "inference_geo", "max_tokens", "mcp_servers", "messages", "metadata", "model",
		"output_config", "output_format", "service_tier", "speed", "stop_sequences", "stream", "system", "temperature", "thinking",
		"tool_choice", "tools", "top_k", "top_p",
	},
}

// Read implements keyproxy.API.
func (API) Read(_ *http.Request, body io.Reader) (keyproxy.Request, error) {
	r, err := fields.Read(body)
	r.Model = bare(r.Model)
	return r, err
}

// ShownCredentials implements keyproxy.API: a key, or a token.
func (API) ShownCredentials(r *http.Request) []string {
	return []string{r.Header.Get("X-Api-Key"), program.BearerToken(r)}
}

// Headers implements keyproxy.API.
func (API) Headers() []string {
	return []string{"Anthropic-Version", "Anthropic-Beta", "Anthropic-Dangerous-Direct-Browser-Access", "X-App", "X-Claude-Code-", "X-Stainless-"}
}

// Sign implements keyproxy.API.
func (API) Sign(r *http.Request, secret keyproxy.Credential) {
	r.Header.Del("X-Api-Key")
	r.Header.Del("Authorization")
	if secret.IsToken {
		r.Header.Set("Authorization", "Bearer "+secret.Text)
		return
	}
	r.Header.Set("X-Api-Key", secret.Text)
}

// Env implements keyproxy.API.
func (API) Env(a keyproxy.Access) []string {
	env := []string{"ANTHROPIC_BASE_URL=" + a.URL, "ANTHROPIC_AUTH_TOKEN="}
	if a.IsToken {
		// Not ANTHROPIC_AUTH_TOKEN: only with this one does the CLI ask as a
		// subscription does (anthropic-beta: oauth-2025-04-20).
		env = append(env, "CLAUDE_CODE_OAUTH_TOKEN="+a.Credential, "ANTHROPIC_API_KEY=")
	} else {
		env = append(env, "ANTHROPIC_API_KEY="+a.Credential, "CLAUDE_CODE_OAUTH_TOKEN=")
	}
	if a.IsDirect && program.Variable(a.Environ, "ENABLE_TOOL_SEARCH") == "" {
		// The CLI sends all tools with each request, 28 KB more, to an API that is
		// not Anthropic's by its address.
		env = append(env, "ENABLE_TOOL_SEARCH=true")
	}
	return env
}

// Counter implements keyproxy.API.
func (API) Counter(keyproxy.Request) keyproxy.Counter { return &counter{} }

// kinds are the API's own names of errors.
var kinds = map[int]string{
	http.StatusBadRequest:            "invalid_request_error",
	http.StatusUnauthorized:          "authentication_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusBadGateway:            "api_error",
	http.StatusServiceUnavailable:    "api_error",
	http.StatusRequestTimeout:        "timeout_error",
	http.StatusTooManyRequests:       "rate_limit_error",
}

// ErrorBody implements keyproxy.API.
func (API) ErrorBody(status int, message string) any {
	return map[string]any{"type": "error", "error": map[string]any{"type": kinds[status], "message": message}}
}
