package geminitest

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/raymond-action/raymond-action/runner/agenttest"
)

var path = regexp.MustCompile(`^/v1beta/models/([^/:]+):(generateContent|streamGenerateContent)$`)

// serve starts a scripted Gemini API that asks m, until the test ends, and returns its URL. It implements as much
// of it as the CLI uses, below /v1beta.
func serve(t testing.TB, m agenttest.Model) string {
	t.Helper()
	return agenttest.Serve(t, func(s *agenttest.Server, w http.ResponseWriter, r *http.Request, body []byte) {
		asks := path.FindStringSubmatch(r.URL.Path)
		if r.Method != http.MethodPost || asks == nil {
			http.NotFound(w, r)
			return
		}
		q, asked, err := newRequest(asks[1], r.Header, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c := &call{Reply: agenttest.Reply{Text: routing}, w: w, model: asks[1], isStream: asks[2] == "streamGenerateContent"}
		if !q.isRouting() {
			s.Note(asked)
			c.Reply = m(asked)
		}
		if c.Status >= http.StatusBadRequest {
			c.fail()
			return
		}
		c.answer(func() { s.BreakOff(r, c.Hang) })
	}).URL
}

// routing is the answer to the question which model a prompt needs, in each form in which it
// is asked.
const routing = `{"complexity_reasoning": "scripted", "complexity_score": 10, "reasoning": "scripted", "model_choice": "flash"}`

// call is one request being answered.
type call struct {
	agenttest.Reply
	w        http.ResponseWriter
	model    string
	isStream bool
}

// statuses are the API's own names of errors.
var statuses = map[int]string{
	http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED",
	http.StatusNotFound: "NOT_FOUND", http.StatusTooManyRequests: "RESOURCE_EXHAUSTED", http.StatusServiceUnavailable: "UNAVAILABLE",
	http.StatusInternalServerError: "INTERNAL",
}

func (c *call) fail() {
	var details []map[string]any
	if c.UsageLimit {
		details = append(details, map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []map[string]any{{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}}})
	}
	if c.RetryAfter != "" {
		details = append(details, map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": c.RetryAfter + "s"})
		c.w.Header().Set("Retry-After", c.RetryAfter)
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(c.Status)
	c.send(map[string]any{"error": map[string]any{
		"code": c.Status, "message": c.Words(), "status": statuses[c.Status], "details": details,
	}})
}

// answer answers with server-sent events, or at once where no stream is asked for.
func (c *call) answer(breakOff func()) {
	if !c.isStream {
		c.w.Header().Set("Content-Type", "application/json")
		c.send(c.piece(c.Text, "STOP"))
		return
	}
	c.w.Header().Set("Content-Type", "text/event-stream")
	half := len(c.Text) / 2
	for half > 0 && c.Text[half]&0xC0 == 0x80 { // not within a character
		half--
	}
	if c.Cut || c.Hang {
		c.event(c.piece("…"+c.Text[:half], ""))
		breakOff()
	}
	if half > 0 {
		c.event(c.piece(c.Text[:half], ""))
	}
	c.event(c.piece(c.Text[half:], "STOP"))
}

// piece is a part of the answer, with the tools and the tokens when it is the last one.
func (c *call) piece(text, reason string) map[string]any {
	parts := []map[string]any{}
	if text != "" || reason == "" {
		parts = append(parts, map[string]any{"text": text})
	}
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	usage := map[string]any{"promptTokenCount": c.Input + c.Cached, "totalTokenCount": c.Input + c.Cached}
	if reason != "" {
		candidate["content"] = map[string]any{"role": "model", "parts": append(parts, c.use()...)}
		candidate["finishReason"] = reason
		usage = c.usage()
	}
	return map[string]any{"candidates": []any{candidate}, "usageMetadata": usage, "modelVersion": c.model}
}

// use asks for the tools of the reply.
func (c *call) use() []map[string]any {
	var parts []map[string]any
	if c.Shell != "" {
		parts = append(parts, function("run_shell_command", map[string]any{"command": c.Shell, "description": "scripted"}))
	}
	if c.Write != "" {
		parts = append(parts, function("write_file", map[string]any{"file_path": c.Write, "content": "written\n"}))
	}
	return parts
}

func function(name string, args map[string]any) map[string]any {
	return map[string]any{"functionCall": map[string]any{"name": name, "args": args}}
}

// usage are the tokens that the reply reports; the API counts what is cached as a part of the
// input, and thoughts beside the output.
func (c *call) usage() map[string]any {
	in, cached, out := c.Tokens()
	thoughts := min(out, 3)
	return map[string]any{
		"promptTokenCount": in + cached, "cachedContentTokenCount": cached, "candidatesTokenCount": out - thoughts,
		"thoughtsTokenCount": thoughts, "totalTokenCount": in + cached + out,
	}
}

// event sends one event at once. It is no error that the client has left.
func (c *call) event(data map[string]any) {
	_, _ = io.WriteString(c.w, "data: ")
	c.send(data)
	_, _ = io.WriteString(c.w, "\n")
	_ = http.NewResponseController(c.w).Flush()
}

func (c *call) send(data map[string]any) {
	if err := json.NewEncoder(c.w).Encode(data); err != nil {
		panic(http.ErrAbortHandler)
	}
}
