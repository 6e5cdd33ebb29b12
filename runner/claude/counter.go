package claude

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// ofAPI is how the API counts for one message.
var ofAPI = keyproxy.Layout{
	Input: []string{"input_tokens"}, Output: []string{"output_tokens"}, CacheRead: "cache_read_input_tokens",
	CacheWrite: "cache_creation_input_tokens", CacheHour: "cache_creation.ephemeral_1h_input_tokens",
	Free: []string{searches, "web_fetch_requests", "tool_search_requests", "cache_deleted_input_tokens"}, // a fetch costs only its tokens
}

// searches counts web searches, each of which costs a cent, by the vendor's list of prices of
// 2026-11-22: https://platform.claude.com/docs/en/about-claude/pricing.
const (
	searches     = "web_search_requests"
	search       = state.Dollar / 100
	mostSearches = 1_000_000 // that are believed
)

// usageOf is the API's count for a message of a model. Where the API has read the prompt more than once, as when it
// has compacted a conversation, usageOf adds up all iterations, because the message's own counts leave some out.
func usageOf(record jsontext.Value, model string) state.Usage {
	var passes struct {
		Iterations []jsontext.Value `json:"iterations"`
	}
	_ = json.Unmarshal(record, &passes, jsonstrict.Loose)
	u, sum := ofAPI.Usage(record, bare(model)), state.Usage{}
	for _, pass := range passes.Iterations {
		sum = sum.Plus(ofAPI.Usage(pass, ""))
	}
	u = u.Plus(sum.Minus(u))
	u.HasFees = ofAPI.HasFees(record)
	u.Surcharge = state.USD(min(keyproxy.CountAt(record, "server_tool_use", searches), mostSearches)) * search
	return u
}

// bare cuts the variant off a model's name, as in "opus[1m]".
func bare(model string) string {
	name, _, _ := strings.Cut(model, "[")
	return name
}

// answer is a message of the model as far as it counts tokens, from the API, in the CLI's output and in transcripts. The count
// is kept as it is: what is wrong in it must not cost the record.
type answer struct {
	ID    string         `json:"id"`
	Type  string         `json:"type"`
	Model string         `json:"model"`
	Usage jsontext.Value `json:"usage"`
}

// counted is the answer as one that has ended, or that has just begun.
func (a answer) counted(whole bool) *keyproxy.Message {
	return keyproxy.NewMessage(a.ID, usageOf(a.Usage, a.Model), whole)
}

// piece is one event of the API's stream for an answer, as far as this package reads it.
type piece struct {
	Type    string         `json:"type"`
	Message answer         `json:"message"`
	Usage   jsontext.Value `json:"usage"`
	Delta   struct {
		Text     string         `json:"text"`
		Thinking string         `json:"thinking"`
		JSON     string         `json:"partial_json"`
		Stop     jsontext.Value `json:"stop_reason"` // of a message_delta
	} `json:"delta"`
}

// size is how many bytes of the piece the model wrote.
func (p *piece) size() int64 {
	return int64(len(p.Delta.Text) + len(p.Delta.Thinking) + len(p.Delta.JSON))
}

// counter counts the tokens of one answer of the Messages API, whole or piece by piece. It implements keyproxy.Counter.
type counter struct{ message *keyproxy.Message }

// Message returns what was counted so far; nil before the answer has begun.
func (c *counter) Message() *keyproxy.Message { return c.message }

// Event takes the data of an event of a stream.
func (c *counter) Event(data []byte) {
	var p piece
	if json.Unmarshal(data, &p, jsonstrict.Loose) != nil {
		return
	}
	switch {
	case p.Type == "message_start" && c.message == nil:
		c.message = p.Message.counted(false)
	case p.Type == "error" && c.message == nil:
		c.message = p.Message.counted(true) // an error counts no tokens
	case p.Type == "message_delta" && c.message != nil:
		c.message.Update(usageOf(p.Usage, ""))
	default:
		c.message.AddText(p.size())
	}
}

// Whole takes an answer that is no stream.
func (c *counter) Whole(data []byte) {
	var a answer
	if json.Unmarshal(data, &a, jsonstrict.Loose) == nil && (a.Type == "message" || a.Type == "error") {
		c.message = a.counted(true)
	}
}
