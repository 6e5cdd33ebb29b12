package clitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// object is one of JSON.
type object = map[string]any

// api is how an API speaks, as far as its CLI uses it.
type api struct {
	// read returns what a request asks the model, and false for one that is for no model, which it has answered.
	read func(c *call) (Request, bool)
	// problem is the body of the error that a reply is, beside which it may set headers.
	problem func(c *call) object
	// answer sends a reply.
	answer func(c *call)
}

// call is one request being answered.
type call struct {
	Reply
	w     http.ResponseWriter
	r     *http.Request
	body  []byte
	asked Request
}

// serve starts an API that asks m, until the test ends, and returns its URL.
func (a api) serve(t testing.TB, m Model) string {
	t.Helper()
	return Serve(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
		c := &call{w: w, r: r, body: body}
		asked, ok := a.read(c)
		if !ok {
			return
		}
		asked.Body = body
		c.asked, c.Reply = asked, m(asked)
		if c.Status < http.StatusBadRequest {
			a.answer(c)
			return
		}
		c.send(c.Status, a.problem(c))
	})
}

// Serve starts a server that lives as long as the test, and returns its URL. handle is given requests with their bodies.
func Serve(t testing.TB, handle func(w http.ResponseWriter, r *http.Request, body []byte)) string {
	t.Helper()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			handle(w, r, body)
		}
	}))
	t.Cleanup(func() {
		h.CloseClientConnections() // one may hang
		h.Close()
	})
	return h.URL
}

// Hang waits until the client has left, and ends an answer that has begun.
func Hang(r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// reads reads the request for a model, and reports false, and says so, for one that it can't read.
func (c *call) reads(q any) bool {
	err := json.Unmarshal(c.body, q)
	if err != nil {
		http.Error(c.w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

// send answers with JSON, as a whole. It is no error that the client has left.
func (c *call) send(status int, body object) {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_ = json.NewEncoder(c.w).Encode(body)
}

// event sends one server-sent event at once: of a type, "" where the API has none.
func (c *call) event(kind string, fields object) {
	c.w.Header().Set("Content-Type", "text/event-stream")
	if kind != "" {
		fields["type"] = kind
		fmt.Fprintf(c.w, "event: %s\n", kind)
	}
	fmt.Fprintf(c.w, "data: %s\n\n", marshalled(fields))
	_ = http.NewResponseController(c.w).Flush()
}

// hangs goes no further where the reply hangs.
func (c *call) hangs() {
	if c.Hang {
		Hang(c.r)
	}
}

func marshalled(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// content are the parts of a message; on the wire a string stands for one that is a text.
type content []part

// part is a part of a message, of any API.
type part struct {
	Type, Text       string
	Content          content // of what a tool brought
	Thought          bool
	FunctionResponse *struct{ Response map[string]any }
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	type parts content // without this method
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*parts)(c))
}

// text are the texts of the parts, without what the CLI adds by itself.
func (c content) text() string {
	var texts []string
	for _, p := range c {
		if p.Text != "" && !p.Thought && !isOwn(p.Text) {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// isOwn reports whether a user's text is one that a CLI adds by itself.
func isOwn(text string) bool {
	return slices.ContainsFunc([]string{
		"<system-reminder>", "<environment_context>", "<user_instructions>", "<turn_aborted>", "# AGENTS.md", "Another language model",
		"<session_context>", "<hook_context>", "System: ",
	}, func(begin string) bool { return strings.HasPrefix(strings.TrimSpace(text), begin) })
}
