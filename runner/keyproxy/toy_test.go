package keyproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/state"
)

// toy is an agent CLI whose API has two paths. The API reports token counts like Anthropic's Messages API.
const toy = "toy"

// toyAPI is the API of an agent CLI with the given name. It implements API.
type toyAPI struct{ name string }

func (a toyAPI) Backend() string       { return a.name }
func (toyAPI) Upstream() string        { return "https://toy.example/api" }
func (toyAPI) Counter(Request) Counter { return &toyCounter{} }

// Classify returns Paid for a message, and Free for a count of tokens and for a list of messages.
func (toyAPI) Classify(r *http.Request) RequestClass {
	return map[string]RequestClass{"POST /v1/messages": Paid, "POST /v1/count": Free, "GET /v1/messages": Free}[r.Method+" "+r.URL.EscapedPath()]
}

// Read parses the body. It returns an error only if the body contains "later": true. If the body is not
// JSON, the result is empty.
func (toyAPI) Read(_ *http.Request, r io.Reader) (Request, error) {
	var body struct {
		Model  string
		Output int64
		Later  bool
		Uses   []string

		Fetches   string
		Unknown   []string
		Unbounded bool
	}
	if json.NewDecoder(r).Decode(&body) != nil {
		return Request{}, nil
	}
	if body.Later {
		return Request{}, errors.New("nobody could count that")
	}
	return Request{Model: body.Model, MaxOutput: body.Output, VendorTools: body.Uses, Fetches: body.Fetches, UnknownFields: body.Unknown, IsUnbounded: body.Unbounded}, nil
}

func (toyAPI) ShownCredentials(r *http.Request) []string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return []string{r.Header.Get("X-Api-Key"), token}
}

func (toyAPI) Headers() []string { return []string{"Anthropic-Beta", "Model", "X-Toy-"} }

func (toyAPI) Sign(r *http.Request, key Credential) {
	r.Header.Del("Authorization")
	r.Header.Set("X-Api-Key", key.Text)
}

func (a toyAPI) Env(to Access) []string {
	return []string{"TOY_URL=" + to.URL, "TOY_KEY=" + to.Credential}
}

func (toyAPI) ErrorBody(status int, message string) any {
	return map[string]any{"status": status, "error": message}
}

// toyCounter counts tokens in the same way as for the Messages API, but supports only what these tests need.
type toyCounter struct{ message *Message }

func (c *toyCounter) Message() *Message { return c.message }

// toyPiece is an event in a stream, or a response that is not a stream.
type toyPiece struct {
	Type, Model string
	Message     *toyPiece
	Usage       json.RawMessage
}

// usage returns the counts in a piece.
func (p toyPiece) usage() state.Usage {
	l := Layout{
		Input: []string{"input_tokens"}, Output: []string{"output_tokens"}, Free: []string{"web_search_requests", "iterations"},
		CacheWrite: "cache_creation_input_tokens", CacheRead: "cache_read_input_tokens", CacheHour: "cache_creation.ephemeral_1h_input_tokens",
	}
	u := l.Usage(jsontext.Value(p.Usage), p.Model)
	u.Surcharge = state.USD(CountAt(jsontext.Value(p.Usage), "server_tool_use", "web_search_requests")) * state.Dollar / 100
	u.HasFees = l.HasFees(jsontext.Value(p.Usage))
	return u
}

func (c *toyCounter) Event(data []byte) {
	if bytes.Contains(data, []byte(`"error"`)) && c.message == nil {
		c.message = NewMessage("", state.Usage{}, true)
	}
	if !bytes.Contains(data, []byte(`"usage"`)) {
		_, text, _ := strings.Cut(string(data), `"text":"`)
		c.message.AddText(int64(max(0, strings.Index(text, `"}`))))
		return
	}
	var p toyPiece
	switch _ = json.Unmarshal(data, &p); {
	case p.Message != nil && c.message == nil:
		c.message = NewMessage("", p.Message.usage(), false)
	case p.Usage != nil && c.message != nil:
		c.message.Update(p.usage())
	}
}

func (c *toyCounter) Whole(data []byte) {
	var p toyPiece
	if json.Unmarshal(data, &p) == nil && p.Type == "message" {
		c.message = NewMessage("", p.usage(), true)
	}
}

// vendors returns the configuration of the toy's API at a URL.
func vendors(upstream string) []Vendor {
	return []Vendor{{API: toyAPI{toy}, Upstream: upstream, Credential: Credential{Text: realKey}}}
}
