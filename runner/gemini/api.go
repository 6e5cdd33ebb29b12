package gemini

import (
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// API is Google's Gemini API. It implements keyproxy.API.
type API struct{}

var _ keyproxy.API = API{}

// Backend implements keyproxy.API.
func (API) Backend() string { return protocol.BackendGemini }

// Upstream implements keyproxy.API.
func (API) Upstream() string { return "https://generativelanguage.googleapis.com" }

// modelCall matches the path of a request to a model, without ".." and without escaped characters.
var modelCall = text.Regexp(`^/v1(?:alpha|beta)?/models/([A-Za-z0-9][A-Za-z0-9._-]*):(generateContent|streamGenerateContent|countTokens)$`)

// Classify implements keyproxy.API. Commands that the agent runs can use the proxy's credential as
// well, so only requests to models are forwarded. The vendor's key would also allow access to
// files, caches and batches, which is denied.
func (API) Classify(r *http.Request) keyproxy.RequestClass {
	found := modelCall().FindStringSubmatch(r.URL.EscapedPath())
	// In a response of any other form, the tokens can't be counted.
	isUnreadable := func(form string) bool { return form != "" && form != "json" && form != "sse" }
	switch {
	case found == nil || r.Method != http.MethodPost || slices.ContainsFunc(r.URL.Query()["alt"], isUnreadable):
		return keyproxy.Refused
	case found[2] == "countTokens":
		return keyproxy.Free
	}
	return keyproxy.Paid
}

// fields lists the fields of a request that affect the cost of its response, and the fields that
// don't. The API accepts names in camel case and in snake case.
var fields = keyproxy.RequestFields{
	Output: []string{"generationConfig.maxOutputTokens", "generationConfig.max_output_tokens", "generation_config.maxOutputTokens", "generation_config.max_output_tokens"},
	PriceFactors: []string{
		"generationConfig.candidateCount", "generationConfig.candidate_count", "generation_config.candidateCount", "generation_config.candidate_count",
		"serviceTier", "service_tier",
	},
	VendorServices: []string{"cachedContent", "cached_content"}, Opaque: []string{"args", "response"},
	Pictures: []string{
		"contents.parts.inlineData", "contents.parts.inline_data",
		"contents.parts.functionResponse.parts.inlineData", "contents.parts.function_response.parts.inline_data",
	},
	Known: []string{
		"contents", "generateContentRequest", "generate_content_request", "generationConfig", "generation_config", "labels", "model", "safetySettings",
		"safety_settings", "serviceTier", "service_tier", "systemInstruction", "system_instruction", "toolConfig", "tool_config", "tools",
	},
}

// Read implements keyproxy.API. The path of the request, and not the body, contains the model.
func (API) Read(r *http.Request, body io.Reader) (keyproxy.Request, error) {
	request, err := fields.Read(body)
	request.Model = modelCall().FindStringSubmatch(r.URL.EscapedPath())[1]
	return request, err
}

// keyHeader is the header in which the CLI sends its credential.
const keyHeader = "X-Goog-Api-Key"

// ShownCredentials implements keyproxy.API.
func (API) ShownCredentials(r *http.Request) []string {
	return []string{r.Header.Get(keyHeader), r.URL.Query().Get("key"), program.BearerToken(r)}
}

// Headers implements keyproxy.API. The header names the client program.
func (API) Headers() []string { return []string{"X-Goog-Api-Client"} }

// Sign implements keyproxy.API. It removes the query parameters that the CLI does not need. Some of
// them would remove the token counts from the response.
func (API) Sign(r *http.Request, its keyproxy.Credential) {
	r.Header.Del("Authorization")
	r.Header.Set(keyHeader, its.Text)
	query := url.Values{}
	if form := r.URL.Query().Get("alt"); form != "" {
		query.Set("alt", form)
	}
	r.URL.RawQuery = query.Encode()
}

// Env implements keyproxy.API. It also clears the variables for other ways to log in.
func (API) Env(a keyproxy.Access) []string {
	return []string{
		"GOOGLE_GEMINI_BASE_URL=" + a.URL, "GEMINI_API_KEY=" + a.Credential, authVar + "=" + authByKey,
		"GOOGLE_API_KEY=", "GOOGLE_GENAI_USE_VERTEXAI=", "GOOGLE_GENAI_USE_GCA=", "GEMINI_API_KEY_AUTH_MECHANISM=",
		"GOOGLE_APPLICATION_CREDENTIALS=", "GOOGLE_CLOUD_ACCESS_TOKEN=",
	}
}

// Counter implements keyproxy.API.
func (API) Counter(r keyproxy.Request) keyproxy.Counter {
	return &counter{keyproxy.FinalCounter{Model: r.Model, Layout: apiLayout}}
}

// errorStatuses maps HTTP statuses to the API's names of errors.
var errorStatuses = map[int]string{
	http.StatusBadRequest:            "INVALID_ARGUMENT",
	http.StatusUnauthorized:          "UNAUTHENTICATED",
	http.StatusNotFound:              "NOT_FOUND",
	http.StatusRequestEntityTooLarge: "INVALID_ARGUMENT",
	http.StatusBadGateway:            "UNAVAILABLE",
	http.StatusServiceUnavailable:    "UNAVAILABLE",
	http.StatusRequestTimeout:        "DEADLINE_EXCEEDED",
	http.StatusTooManyRequests:       "RESOURCE_EXHAUSTED",
}

// ErrorBody implements keyproxy.API.
func (API) ErrorBody(status int, message string) any {
	return map[string]any{"error": map[string]any{"code": status, "message": message, "status": errorStatuses[status]}}
}
