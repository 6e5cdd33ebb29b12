package claude

import (
	"io"
	"net/http"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// API describes Anthropic's API to the key proxy.
type API struct{}

var _ keyproxy.API = API{}

// Backend implements keyproxy.API.
func (API) Backend() string { return protocol.BackendClaude }

// Upstream implements keyproxy.API.
func (API) Upstream() string { return "https://api.anthropic.com" }

// messagesPath is the path of the requests that cost money.
const messagesPath = "/v1/messages"

// modelPath matches the path of one model. It matches neither names that begin with a dot nor escaped
// characters.
var modelPath = text.Regexp(`^/v1/models/[A-Za-z0-9][A-Za-z0-9._:@-]*$`)

// Classify implements keyproxy.API. Commands that the agent runs can use the account's credential too.
// Only requests that the CLI needs are forwarded, because the key may also give access to other things,
// such as files and batches of other users.
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

// fields names the fields of a request that determine the maximum cost of the response.
var fields = keyproxy.RequestFields{
	Model: "model", Output: []string{"max_tokens"}, PriceFactors: []string{"service_tier", "speed", "inference_geo"},
	// The tools with the prefix tool_search_tool search only the tools in the same request.
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
	r.Model = withoutVariant(r.Model)
	return r, err
}

// ShownCredentials implements keyproxy.API. A client sends an API key or a bearer token.
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
		// ANTHROPIC_AUTH_TOKEN can't be used here. Only with CLAUDE_CODE_OAUTH_TOKEN, the CLI sends the header
		// that requests of a subscription need (anthropic-beta: oauth-2025-04-20).
		env = append(env, "CLAUDE_CODE_OAUTH_TOKEN="+a.Credential, "ANTHROPIC_API_KEY=")
	} else {
		env = append(env, "ANTHROPIC_API_KEY="+a.Credential, "CLAUDE_CODE_OAUTH_TOKEN=")
	}
	if a.IsDirect && program.Variable(a.Environ, "ENABLE_TOOL_SEARCH") == "" {
		// The proxy's address isn't Anthropic's. Without this variable, the CLI would therefore send all tools
		// with each request, which adds 28 KB.
		env = append(env, "ENABLE_TOOL_SEARCH=true")
	}
	return env
}

// Counter implements keyproxy.API.
func (API) Counter(keyproxy.Request) keyproxy.Counter { return &counter{} }

// errorTypes maps HTTP statuses to the API's names for errors.
var errorTypes = map[int]string{
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
	return map[string]any{"type": "error", "error": map[string]any{"type": errorTypes[status], "message": message}}
}
