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

// object is a JSON object.
type object = map[string]any

// api implements the protocol of one vendor's API, as far as its CLI uses it.
type api struct {
	// read decodes a request. It returns false for a request that is not for the model; read has
	// answered it then.
	read func(c *exchange) (Request, bool)
	// errorBody returns the body of an error reply. It may also set headers.
	errorBody func(c *exchange) object
	// answer sends the reply.
	answer func(c *exchange)
}

// exchange is a request and the reply to it.
type exchange struct {
	Reply
	w       http.ResponseWriter
	r       *http.Request
	body    []byte
	request Request
}

// serve starts an API that gets its replies from m, and returns its URL. It stops when the test
// ends.
func (a api) serve(t testing.TB, m Model) string {
	t.Helper()
	return Serve(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
		c := &exchange{w: w, r: r, body: body}
		request, ok := a.read(c)
		if !ok {
			return
		}
		request.Body = body
		c.request, c.Reply = request, m(request)
		if c.Status < http.StatusBadRequest {
			a.answer(c)
			return
		}
		c.send(c.Status, a.errorBody(c))
	})
}

// Serve starts an HTTP server, which stops when the test ends, and returns its URL. handle gets
// each request with its body.
func Serve(t testing.TB, handle func(w http.ResponseWriter, r *http.Request, body []byte)) string {
	t.Helper()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			handle(w, r, body)
		}
	}))
	t.Cleanup(func() {
		h.CloseClientConnections() // a connection may hang
		h.Close()
	})
	return h.URL
}

// Hang waits until the client disconnects, and then aborts the response.
func Hang(r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// decode decodes the request body into q. If that fails, it answers with status 400 and returns
// false.
func (c *exchange) decode(q any) bool {
	err := json.Unmarshal(c.body, q)
	if err != nil {
		http.Error(c.w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

// send answers with a JSON body. It ignores a client that has disconnected.
func (c *exchange) send(status int, body object) {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_ = json.NewEncoder(c.w).Encode(body)
}

// event writes and flushes a server-sent event. kind is its type; "" for an API without event
// types.
func (c *exchange) event(kind string, fields object) {
	c.w.Header().Set("Content-Type", "text/event-stream")
	if kind != "" {
		fields["type"] = kind
		fmt.Fprintf(c.w, "event: %s\n", kind)
	}
	fmt.Fprintf(c.w, "data: %s\n\n", mustMarshal(fields))
	_ = http.NewResponseController(c.w).Flush()
}

// hangIfScripted stops the response here if the reply's Hang is set.
func (c *exchange) hangIfScripted() {
	if c.Hang {
		Hang(c.r)
	}
}

// mustMarshal returns v as JSON.
func mustMarshal(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// content is the content of a message: a list of blocks. In JSON, a string means a single text
// block.
type content []block

// block is one content block of a message, with the fields of all APIs.
type block struct {
	Type, Text       string
	Content          content // of a tool result
	Thought          bool
	FunctionResponse *struct{ Response map[string]any }
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	type parts content // without this method, or Unmarshal would recurse
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*parts)(c))
}

// text returns the texts of the blocks, without thoughts and the texts that the CLI adds.
func (c content) text() string {
	var texts []string
	for _, p := range c {
		if p.Text != "" && !p.Thought && !isAddedByCLI(p.Text) {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// isAddedByCLI reports whether the CLI itself has added a text to a user's message.
func isAddedByCLI(text string) bool {
	return slices.ContainsFunc([]string{
		"<system-reminder>", "<environment_context>", "<user_instructions>", "<turn_aborted>", "# AGENTS.md", "Another language model",
		"<session_context>", "<hook_context>", "System: ",
	}, func(begin string) bool { return strings.HasPrefix(strings.TrimSpace(text), begin) })
}
