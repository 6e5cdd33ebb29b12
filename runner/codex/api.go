package codex

import (
	"errors"
	"io"
	"net/http"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// API is OpenAI's API. It implements keyproxy.API.
type API struct{}

var _ keyproxy.API = API{}

// Backend implements keyproxy.API.
func (API) Backend() string { return protocol.BackendCodex }

// Upstream implements keyproxy.API.
func (API) Upstream() string { return upstream }

// upstream is the URL of the vendor's API.
const upstream = "https://api.openai.com/v1"

// modelPath matches the path of a single model, without ".." and without escaped characters.
var modelPath = text.Regexp(`^/models/[A-Za-z0-9][A-Za-z0-9._:@-]*$`)

// Classify implements keyproxy.API. Commands that the agent runs can use the proxy's credential as
// well, so only requests to models and requests for their descriptions are forwarded. The vendor's
// key would also allow access to files, batches, stored responses and more, which is denied.
func (API) Classify(r *http.Request) keyproxy.RequestClass {
	path := r.URL.EscapedPath()
	switch {
	case r.Method == http.MethodPost && (path == "/responses" || path == "/responses/compact"):
		return keyproxy.Paid
	case r.Method == http.MethodGet && (path == "/models" || modelPath().MatchString(path)):
		return keyproxy.Free
	}
	return keyproxy.Refused
}

// fields lists the fields of a request that affect the cost of its response, and the fields that
// don't.
var fields = keyproxy.RequestFields{
	Model: "model", Output: []string{"max_output_tokens"}, PriceFactors: []string{"service_tier", "n", "background"},
	ClientTools: []string{"function", "custom", "namespace", "local_shell", "apply_patch", "computer", "computer_use_preview"}, VendorServices: []string{"prompt", "plugins"},
	Pictures: []string{"input.content.image_url", "input.output.image_url"}, StoredObjects: []string{"previous_response_id", "conversation", "input.id"},
	Known: []string{
		"background", "client_metadata", "context_management", "include", "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "model", "n",
		"parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier",
		"service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
	},
}

// Read implements keyproxy.API. It rejects a request whose cost can't be computed from the tokens
// in the response.
func (API) Read(r *http.Request, body io.Reader) (keyproxy.Request, error) {
	if packed := r.Header.Get("Content-Encoding"); packed != "" && packed != "identity" {
		return keyproxy.Request{}, errors.New("the tokens of a compressed request can't be counted")
	}
	request, err := fields.Read(body)
	if err == nil && request.Model == "" {
		err = errors.New("the cost of a request without a model can't be counted")
	}
	return request, err
}

// ShownCredentials implements keyproxy.API.
func (API) ShownCredentials(r *http.Request) []string {
	return []string{program.BearerToken(r)}
}

// Headers implements keyproxy.API.
func (API) Headers() []string {
	return []string{"Conversation_id", "Openai-Beta", "Originator", "Session-Id", "Session_id", "Thread-Id", "Version", "X-Client-Request-Id", "X-Codex-"}
}

// Sign implements keyproxy.API.
func (API) Sign(r *http.Request, own keyproxy.Credential) {
	r.Header.Set("Authorization", "Bearer "+own.Text)
}

// Env implements keyproxy.API. The CLI itself ignores some of these variables; args passes their
// values to it as arguments.
func (API) Env(a keyproxy.Access) []string {
	return []string{baseVar + "=" + a.URL, keyVar + "=" + a.Credential, otherKeyVar + "="}
}

// Counter implements keyproxy.API.
func (API) Counter(r keyproxy.Request) keyproxy.Counter {
	return &counter{keyproxy.FinalCounter{Model: r.Model, Layout: apiLayout}}
}

// ErrorBody implements keyproxy.API.
func (API) ErrorBody(status int, message string) any {
	kind := "invalid_request_error"
	if status >= http.StatusInternalServerError {
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"type": kind, "code": nil, "message": message}}
}
