package claude

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// apiLayout names the API's token counters for one message.
var apiLayout = keyproxy.Layout{
	Input: []string{"input_tokens"}, Output: []string{"output_tokens"}, CacheRead: "cache_read_input_tokens",
	CacheWrite: "cache_creation_input_tokens", CacheHour: "cache_creation.ephemeral_1h_input_tokens",
	Free: []string{searches, "web_fetch_requests", "tool_search_requests", "cache_deleted_input_tokens"}, // a fetch costs nothing but its tokens
}

// A web search costs a cent, according to the vendor's price list on 2026-11-22:
// https://platform.claude.com/docs/en/about-claude/pricing.
const (
	searches     = "web_search_requests"
	search       = state.Dollar / 100
	mostSearches = 1_000_000 // larger numbers are reduced to it
)

// usageOf returns the API's token counts for a message. The API may read the prompt more than once, for
// example to compact the conversation. It then lists several iterations, some of which the message's own
// counts omit. For each counter, usageOf returns the sum of the iterations if that is larger.
func usageOf(record jsontext.Value, model string) state.Usage {
	var passes struct {
		Iterations []jsontext.Value `json:"iterations"`
	}
	_ = json.Unmarshal(record, &passes, jsonstrict.Loose)
	u, sum := apiLayout.Usage(record, withoutVariant(model)), state.Usage{}
	for _, pass := range passes.Iterations {
		sum = sum.Plus(apiLayout.Usage(pass, ""))
	}
	u = u.Plus(sum.Minus(u))
	u.HasFees = apiLayout.HasFees(record)
	u.Surcharge = state.USD(min(keyproxy.CountAt(record, "server_tool_use", searches), mostSearches)) * search
	return u
}

// withoutVariant returns a model's name without its variant. For "opus[1m]", it returns "opus".
func withoutVariant(model string) string {
	name, _, _ := strings.Cut(model, "[")
	return name
}

// answer contains the fields of a model message that are needed to count tokens. The API, the CLI's
// output and transcripts all use this format. Usage is not decoded, so that an invalid value in it
// doesn't make the whole record unreadable.
type answer struct {
	ID    string         `json:"id"`
	Type  string         `json:"type"`
	Model string         `json:"model"`
	Usage jsontext.Value `json:"usage"`
}

// startCount returns a keyproxy.Message with the counts of this message. whole is true if the message is
// complete, and false if it has only begun.
func (a answer) startCount(whole bool) *keyproxy.Message {
	return keyproxy.NewMessage(a.ID, usageOf(a.Usage, a.Model), whole)
}

// piece contains the fields of one event in the API's stream that this package needs.
type piece struct {
	Type    string         `json:"type"`
	Message answer         `json:"message"`
	Usage   jsontext.Value `json:"usage"`
	Delta   struct {
		Text     string         `json:"text"`
		Thinking string         `json:"thinking"`
		JSON     string         `json:"partial_json"`
		Stop     jsontext.Value `json:"stop_reason"` // in a message_delta event
	} `json:"delta"`
}

// size returns how many bytes of text the model wrote in the event.
func (p *piece) size() int64 {
	return int64(len(p.Delta.Text) + len(p.Delta.Thinking) + len(p.Delta.JSON))
}

// counter counts the tokens of one response from the Messages API. It implements keyproxy.Counter.
type counter struct{ message *keyproxy.Message }

// Message returns the counts so far. It returns nil before the message has begun.
func (c *counter) Message() *keyproxy.Message { return c.message }

// Event processes the data of one event in a stream.
func (c *counter) Event(data []byte) {
	var p piece
	if json.Unmarshal(data, &p, jsonstrict.Loose) != nil {
		return
	}
	switch {
	case p.Type == "message_start" && c.message == nil:
		c.message = p.Message.startCount(false)
	case p.Type == "error" && c.message == nil:
		c.message = p.Message.startCount(true) // a response with an error has no tokens
	case p.Type == "message_delta" && c.message != nil:
		c.message.Update(usageOf(p.Usage, ""))
	default:
		c.message.AddText(p.size())
	}
}

// Whole processes a response that is not a stream.
func (c *counter) Whole(data []byte) {
	var a answer
	if json.Unmarshal(data, &a, jsonstrict.Loose) == nil && (a.Type == "message" || a.Type == "error") {
		c.message = a.startCount(true)
	}
}
