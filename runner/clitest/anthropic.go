package clitest

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// anthropicAPI is the Messages API, which Claude Code uses.
var anthropicAPI = api{readMessages, anthropicError, answerMessage}

// readMessages reads a request of Claude Code. It answers requests that are not for the model.
func readMessages(c *exchange) (a Request, ok bool) {
	switch path := c.r.URL.Path; {
	case strings.HasSuffix(path, "/count_tokens"):
		c.send(http.StatusOK, object{"input_tokens": len(c.body) / 4})
		return a, false
	case c.r.Method != http.MethodPost || !strings.HasSuffix(path, "/messages"):
		c.send(http.StatusOK, object{})
		return a, false
	}
	var q struct {
		Model    string
		Messages []struct {
			Role    string
			Content content
		}
		Tools []struct{ Name string }
	}
	ok = c.decode(&q)
	a.Model, a.Key = q.Model, cmp.Or(c.r.Header.Get("x-api-key"), program.BearerToken(c.r))
	for _, tool := range q.Tools {
		a.Tools = append(a.Tools, tool.Name)
	}
	for _, m := range q.Messages {
		for _, b := range m.Content {
			switch {
			case b.Type == "tool_use":
				a.ToolUses++
			case b.Type == "tool_result":
				a.Output = b.Content.text()
			case b.Type != "text" || isAddedByCLI(b.Text) || m.Role == "system":
			case m.Role == "assistant":
				a.ModelTexts = append(a.ModelTexts, b.Text)
			default:
				a.Prompts, a.Output, a.ToolUses = append(a.Prompts, strings.TrimSpace(b.Text)), "", 0
			}
		}
	}
	return a, ok
}

// anthropicError returns the body of an error, and sets the headers of a usage limit.
func anthropicError(c *exchange) object {
	if c.UsageLimit {
		for name, value := range map[string]string{"status": "rejected", "representative-claim": "five_hour", "reset": strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)} {
			c.w.Header().Set("anthropic-ratelimit-unified-"+name, value)
		}
	}
	kind := map[int]string{400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 503: "api_error"}[c.Status]
	return object{"type": "error", "error": object{"type": kind, "message": c.Message}}
}

// blocks returns the content blocks of the reply: its text and its tool calls.
func (c *exchange) blocks() []object {
	var list []object
	if c.Text != "" || c.Shell+c.Write+c.Use == "" {
		list = append(list, object{"type": "text", "text": c.Text})
	}
	use := func(name string, input object) {
		list = append(list, object{"type": "tool_use", "id": "toolu_" + rand.Text(), "name": name, "input": input})
	}
	if c.Shell != "" {
		use("Bash", object{"command": c.Shell, "description": "test"})
	}
	if c.Write != "" {
		use("Write", object{"file_path": c.Write, "content": "written by the model\n"})
	}
	if c.Use != "" {
		use(c.Use, c.With)
	}
	return list
}

// answerMessage sends the reply, as one object or as a stream.
func answerMessage(c *exchange) {
	blocks, reason := c.blocks(), "end_turn"
	if c.Shell+c.Write+c.Use != "" {
		reason = "tool_use"
	}
	in, cached, out := c.tokens()
	usage := func(out int) object {
		return object{"input_tokens": in, "output_tokens": out, "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached}
	}
	message := object{
		"id": "msg_" + rand.Text(), "type": "message", "role": "assistant", "model": c.request.Model,
		"content": blocks, "stop_reason": reason, "stop_sequence": nil, "usage": usage(out),
	}
	if !bytes.Contains(c.body, []byte(`"stream":true`)) {
		c.send(http.StatusOK, message)
		return
	}
	message["content"], message["stop_reason"], message["usage"] = []object{}, nil, usage(1) // the last event contains the real count
	c.event("message_start", object{"message": message})
	for i, b := range blocks {
		empty, delta := maps.Clone(b), object{"type": "text_delta", "text": b["text"]}
		if b["type"] == "text" {
			empty["text"] = ""
		} else {
			empty["input"], delta = object{}, object{"type": "input_json_delta", "partial_json": mustMarshal(b["input"])}
		}
		c.event("content_block_start", object{"index": i, "content_block": empty})
		c.event("content_block_delta", object{"index": i, "delta": delta})
		c.hangIfScripted()
		c.event("content_block_stop", object{"index": i})
	}
	c.event("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage(out)})
	c.event("message_stop", object{})
}
