package claudetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner/agenttest"
)

// serve starts a scripted Messages API that asks m, until the test ends, and returns its URL.
func serve(t testing.TB, m agenttest.Model) string {
	t.Helper()
	return agenttest.Serve(t, func(s *agenttest.Server, w http.ResponseWriter, r *http.Request, body []byte) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/count_tokens") {
			fmt.Fprintf(w, `{"input_tokens":%d}`, len(body)/4)
			return
		}
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") {
			io.WriteString(w, "{}")
			return
		}
		var q request
		if err := json.Unmarshal(body, &q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		asked := q.asked(r.Header, body)
		c := &call{n: s.Note(asked), w: w, model: q.Model, Reply: m(asked)}
		c.answer(q.Stream, func() { s.BreakOff(r, c.Hang) })
	}).URL
}

// call is one request being answered.
type call struct {
	agenttest.Reply
	w     http.ResponseWriter
	n     int // of the request
	model string
}

func (c *call) answer(stream bool, breakOff func()) {
	if c.RetryAfter != "" {
		c.w.Header().Set("retry-after", c.RetryAfter)
	}
	if c.UsageLimit {
		c.Status = http.StatusTooManyRequests
		for name, value := range map[string]string{"status": "rejected", "representative-claim": "five_hour", "reset": strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)} {
			c.w.Header().Set("anthropic-ratelimit-unified-"+name, value)
		}
	}
	switch {
	case c.Status >= http.StatusBadRequest:
		c.fail()
	case stream:
		c.stream(breakOff)
	default:
		c.whole()
	}
}

// errorTypes are the API's own names for the statuses it sends.
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
	404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}

func (c *call) fail() {
	kind := errorTypes[c.Status]
	if kind == "" {
		kind = "api_error"
	}
	c.w.WriteHeader(c.Status)
	json.NewEncoder(c.w).Encode(map[string]any{
		"type": "error", "error": map[string]any{"type": kind, "message": c.Words()},
	})
}

// block is one content block of an answer: a text, or the use of a tool.
type block struct {
	text, tool string
	input      map[string]any
}

func (c *call) blocks() []block {
	var list []block
	uses := []block{
		{tool: "Bash", input: map[string]any{"command": c.Shell, "description": "test"}},
		{tool: "Write", input: map[string]any{"file_path": c.Write, "content": "written by the model\n"}},
		{tool: c.Use, input: c.With},
	}
	for i, is := range []bool{c.Shell != "", c.Write != "", c.Use != ""} {
		if is {
			list = append(list, uses[i])
		}
	}
	if c.Text != "" || len(list) == 0 {
		list = append([]block{{text: c.Text}}, list...)
	}
	return list
}

func (c *call) whole() {
	content := []map[string]any{}
	for i, b := range c.blocks() {
		content = append(content, b.whole(c.id("toolu", i)))
	}
	m := c.message(content)
	m["stop_reason"], m["usage"] = c.stopReason(), c.usage()
	json.NewEncoder(c.w).Encode(m)
}

func (c *call) message(content []map[string]any) map[string]any {
	return map[string]any{
		"id": c.id("msg", 0), "type": "message", "role": "assistant", "model": c.model,
		"content": content, "stop_reason": nil, "stop_sequence": nil,
	}
}

func (c *call) id(kind string, i int) string { return fmt.Sprintf("%s_%d_%d", kind, c.n, i) }

func (c *call) stopReason() string {
	if c.Shell+c.Write+c.Use != "" {
		return "tool_use"
	}
	return "end_turn"
}

// usage are the tokens that the reply reports.
func (c *call) usage() map[string]int {
	in, cached, out := c.Tokens()
	return map[string]int{"input_tokens": in, "output_tokens": out, "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached}
}

// stream answers with server-sent events.
func (c *call) stream(breakOff func()) {
	c.w.Header().Set("Content-Type", "text/event-stream")
	m, u := c.message([]map[string]any{}), c.usage()
	u["output_tokens"] = 1 // the real count comes at the end
	m["usage"] = u
	c.event("message_start", map[string]any{"message": m})
	for i, b := range c.blocks() {
		c.event("content_block_start", map[string]any{"index": i, "content_block": block{tool: b.tool, input: map[string]any{}}.whole(c.id("toolu", i))})
		full, half := b.payload(), len(b.payload())/2
		for half > 0 && full[half]&0xC0 == 0x80 { // not within a character
			half--
		}
		c.event("content_block_delta", map[string]any{"index": i, "delta": b.delta(full[:half])})
		if i == 0 && (c.Hang || c.Cut) {
			breakOff()
		}
		c.event("content_block_delta", map[string]any{"index": i, "delta": b.delta(full[half:])})
		c.event("content_block_stop", map[string]any{"index": i})
	}
	delta := map[string]any{"stop_reason": c.stopReason(), "stop_sequence": nil}
	c.event("message_delta", map[string]any{"delta": delta, "usage": c.usage()})
	c.event("message_stop", map[string]any{})
}

func (c *call) event(kind string, fields map[string]any) { agenttest.Event(c.w, kind, fields) }

func (b block) payload() string {
	if b.tool == "" {
		return b.text
	}
	return string(agenttest.Marshalled(b.input))
}

func (b block) delta(part string) map[string]any {
	if b.tool != "" {
		return map[string]any{"type": "input_json_delta", "partial_json": part}
	}
	return map[string]any{"type": "text_delta", "text": part}
}

// whole is the block as a reply that is not streamed has it.
func (b block) whole(id string) map[string]any {
	if b.tool != "" {
		return map[string]any{"type": "tool_use", "id": id, "name": b.tool, "input": b.input}
	}
	return map[string]any{"type": "text", "text": b.text}
}
