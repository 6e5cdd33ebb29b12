package codextest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner/agenttest"
)

// serve starts a scripted Responses API that asks m, until the test ends, and returns its URL. It implements as
// much of it as the CLI uses, below /v1.
func serve(t testing.TB, m agenttest.Model) string {
	t.Helper()
	return agenttest.Serve(t, func(s *agenttest.Server, w http.ResponseWriter, r *http.Request, body []byte) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/responses" {
			http.NotFound(w, r)
			return
		}
		q, asked, err := newRequest(r.Header, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c := &call{n: s.Note(asked), w: w, tools: asked.Tools, model: q.Model, Reply: m(asked)}
		if c.Status >= http.StatusBadRequest {
			c.fail()
			return
		}
		c.stream(func() { s.BreakOff(r, c.Hang) })
	}).URL
}

// call is one request being answered.
type call struct {
	agenttest.Reply
	w     http.ResponseWriter
	n     int // of the request
	tools []string
	model string
}

// kinds are the API's types and codes of errors.
var kinds = map[int][2]string{
	http.StatusUnauthorized:       {"invalid_request_error", "invalid_api_key"},
	http.StatusNotFound:           {"invalid_request_error", "model_not_found"},
	http.StatusTooManyRequests:    {"requests", "rate_limit_exceeded"},
	http.StatusServiceUnavailable: {"server_error", "server_is_overloaded"},
}

func (c *call) fail() {
	kind, known := kinds[c.Status]
	if !known {
		kind[0] = "invalid_request_error"
	}
	if !known && c.Status >= http.StatusInternalServerError {
		kind[0] = "server_error"
	}
	detail := map[string]any{"type": kind[0], "code": kind[1], "message": c.Words()}
	if c.UsageLimit {
		detail["type"], detail["code"], detail["plan_type"] = "usage_limit_reached", nil, "plus"
		detail["resets_at"] = time.Now().Add(time.Hour).Unix()
	}
	if c.RetryAfter != "" {
		c.w.Header().Set("Retry-After", c.RetryAfter)
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(c.Status)
	_ = json.NewEncoder(c.w).Encode(map[string]any{"error": detail}) // a client that has left needs none
}

// stream answers with server-sent events.
func (c *call) stream(breakOff func()) {
	c.w.Header().Set("Content-Type", "text/event-stream")
	id := fmt.Sprintf("resp_%d", c.n)
	c.event("response.created", map[string]any{"response": map[string]any{"id": id}})
	if c.Cut || c.Hang {
		c.begin("…")
		breakOff()
	}
	if c.Text != "" || c.Shell == "" && c.Write == "" {
		c.begin(c.Text)
		c.item(map[string]any{"type": "message", "role": "assistant", "id": fmt.Sprintf("msg_%d", c.n),
			"content": []map[string]any{{"type": "output_text", "text": c.Text}}})
	}
	c.use()
	c.event("response.completed", map[string]any{"response": map[string]any{"id": id, "model": c.model, "usage": c.usage()}})
}

// begin sends the first piece of a message.
func (c *call) begin(text string) {
	c.event("response.output_item.added", map[string]any{"output_index": 0, "item": map[string]any{
		"type": "message", "role": "assistant", "id": fmt.Sprintf("msg_%d", c.n), "content": []any{}}})
	c.event("response.output_text.delta", map[string]any{"output_index": 0, "content_index": 0, "delta": text})
}

func (c *call) item(it map[string]any) {
	c.event("response.output_item.done", map[string]any{"output_index": 0, "item": it})
}

// use asks for the tools of the reply, by a script where the model uses tools in such.
func (c *call) use() {
	patch := "*** Begin Patch\n*** Add File: " + c.Write + "\n+written\n*** End Patch\n"
	switch scripts := slices.Contains(c.tools, "exec"); {
	case c.Shell != "" && scripts:
		c.custom("exec", `const r = await tools.exec_command({cmd: `+quoted(c.Shell)+`, yield_time_ms: 30000}); text(r.output)`)
	case c.Shell != "":
		c.item(map[string]any{"type": "function_call", "id": fmt.Sprintf("fc_%d", c.n), "call_id": fmt.Sprintf("call_%d", c.n),
			"name": "exec_command", "arguments": `{"cmd":` + quoted(c.Shell) + `}`})
	case c.Write != "" && scripts:
		c.custom("exec", `const r = await tools.apply_patch(`+quoted(patch)+`); text(JSON.stringify(r))`)
	case c.Write != "":
		c.custom("apply_patch", patch)
	}
}

func (c *call) custom(name, input string) {
	c.item(map[string]any{"type": "custom_tool_call", "id": fmt.Sprintf("ctc_%d", c.n), "call_id": fmt.Sprintf("call_%d", c.n),
		"name": name, "input": input})
}

// usage are the tokens that the reply reports; the API counts what is cached as a part of
// the input.
func (c *call) usage() map[string]any {
	in, cached, out := c.Tokens()
	return map[string]any{
		"input_tokens": in + cached, "input_tokens_details": map[string]any{"cached_tokens": cached},
		"output_tokens": out, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": in + cached + out,
	}
}

func (c *call) event(kind string, fields map[string]any) { agenttest.Event(c.w, kind, fields) }

func quoted(s string) string { return string(agenttest.Marshalled(s)) }
