package claudetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/raymond-action/raymond-action/runner/agenttest"
)

// Server is a Messages API on loopback that answers by rules.
type Server struct {
	URL string

	rules []Rule
	model agenttest.Model // answers in place of the rules, when set

	mu   sync.Mutex // guards what follows
	used []int      // requests answered, by rule
	seen []Request
}

// NewServer starts a server that lives as long as the test. A request takes the
// first rule whose Match its last user text contains; one that no rule fits gets
// the text "ok".
func NewServer(t testing.TB, rules ...Rule) *Server {
	t.Helper()
	return newServer(t, nil, rules...)
}

func newServer(t testing.TB, m agenttest.Model, rules ...Rule) *Server {
	t.Helper()
	s := &Server{rules: rules, model: m, used: make([]int, len(rules))}
	s.URL = agenttest.Serve(t, s.serve).URL
	return s
}

// Requests returns the requests for messages so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

func (s *Server) serve(on *agenttest.Server, w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/count_tokens") {
		fmt.Fprintf(w, `{"input_tokens":%d}`, len(body)/4)
		return
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") {
		io.WriteString(w, "{}")
		return
	}
	q, err := newRequest(r.Header, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply, n := s.choose(q)
	if s.model != nil {
		reply = replyOf(s.model(asked(q, body)))
	}
	c := &call{Reply: reply, w: w, breakOff: func() { on.BreakOff(r, reply.Hang) }, model: q.Model, n: n}
	c.answer(q.Stream)
}

// choose records q and returns the reply to it with the request's number.
func (s *Server) choose(q Request) (Reply, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, q)
	for i := range s.rules {
		if s.rules[i].fits(q.Prompt) {
			s.used[i]++
			return s.rules[i].pick(s.used[i]-1, q.Step), len(s.seen)
		}
	}
	return Say("ok"), len(s.seen)
}

// call is one request being answered.
type call struct {
	Reply
	w        http.ResponseWriter
	breakOff func()
	model    string
	n        int
}

func (c *call) answer(stream bool) {
	for k, v := range c.Header {
		c.w.Header().Set(k, v)
	}
	switch {
	case c.Status >= 400:
		c.fail()
	case stream:
		c.stream()
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
	message := c.Message
	if message == "" {
		message = fmt.Sprintf("scripted error %d", c.Status)
	}
	c.w.WriteHeader(c.Status)
	json.NewEncoder(c.w).Encode(map[string]any{
		"type": "error", "error": map[string]any{"type": kind, "message": message},
	})
}

func (c *call) whole() {
	var content []map[string]any
	for i, b := range c.Blocks {
		content = append(content, b.whole(c.id("toolu", i)))
	}
	m := c.message(content)
	m["stop_reason"], m["usage"] = c.stopReason(), c.usage()
	json.NewEncoder(c.w).Encode(m)
}

func (c *call) message(content []map[string]any) map[string]any {
	if content == nil {
		content = []map[string]any{}
	}
	return map[string]any{
		"id": c.id("msg", 0), "type": "message", "role": "assistant", "model": c.model,
		"content": content, "stop_reason": nil, "stop_sequence": nil,
	}
}

func (c *call) id(kind string, i int) string { return fmt.Sprintf("%s_%d_%d", kind, c.n, i) }
