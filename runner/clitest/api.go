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

// api implements the part of a vendor's API that the vendor's CLI uses.
type api struct {
	// read decodes a request. If the request is not for the model, read answers it and returns
	// false.
	read func(c *exchange) (Request, bool)
	// errorBody returns the body of a reply with an error. It may also set headers.
	errorBody func(c *exchange) object
	// answer sends a reply without an error.
	answer func(c *exchange)
}

// exchange is a request of a CLI and the reply to it.
type exchange struct {
	Reply
	w       http.ResponseWriter
	r       *http.Request
	body    []byte
	request Request
}

// serve starts a server with the API, which gets its replies from m, and returns the URL of the
// server. The server stops when the test ends.
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

// Serve starts an HTTP server and returns its URL. For each request, it calls the function handle
// with the request and its body. The server stops when the test ends.
func Serve(t testing.TB, handle func(w http.ResponseWriter, r *http.Request, body []byte)) string {
	t.Helper()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			handle(w, r, body)
		}
	}))
	t.Cleanup(func() {
		h.CloseClientConnections() // without this, Close would wait for responses that hang
		h.Close()
	})
	return h.URL
}

// Hang waits until the client disconnects, and then aborts the request handler.
func Hang(r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// decode decodes the request body into q. If that fails, it sends a response with status 400 and
// returns false.
func (c *exchange) decode(q any) bool {
	err := json.Unmarshal(c.body, q)
	if err != nil {
		http.Error(c.w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

// send sends a response with a JSON body. It ignores errors, since the client may have
// disconnected.
func (c *exchange) send(status int, body object) {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_ = json.NewEncoder(c.w).Encode(body)
}

// event writes and flushes a server-sent event. kind is the type of the event. It is empty for an
// API whose events have no types.
func (c *exchange) event(kind string, fields object) {
	c.w.Header().Set("Content-Type", "text/event-stream")
	if kind != "" {
		fields["type"] = kind
		fmt.Fprintf(c.w, "event: %s\n", kind)
	}
	fmt.Fprintf(c.w, "data: %s\n\n", mustMarshal(fields))
	_ = http.NewResponseController(c.w).Flush()
}

// hangIfScripted stops the response at this point if Hang is set in the reply.
func (c *exchange) hangIfScripted() {
	if c.Hang {
		Hang(c.r)
	}
}

// mustMarshal returns v as JSON, and panics if that fails.
func mustMarshal(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// content is the content of a message: a list of blocks. In JSON it may also be a string, which
// means a single text block.
type content []block

// block is one content block of a message. It contains the fields for all APIs.
type block struct {
	Type, Text       string
	Content          content // content of a tool result
	Thought          bool
	FunctionResponse *struct{ Response map[string]any }
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	type parts content // a type without this method, so that Unmarshal does not recurse
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*parts)(c))
}

// text returns the texts of all blocks. It leaves out thoughts and texts that the CLI has added.
func (c content) text() string {
	var texts []string
	for _, p := range c {
		if p.Text != "" && !p.Thought && !isAddedByCLI(p.Text) {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// isAddedByCLI reports whether a text in a user's message was added by the CLI.
func isAddedByCLI(text string) bool {
	return slices.ContainsFunc([]string{
		"<system-reminder>", "<environment_context>", "<user_instructions>", "<turn_aborted>", "# AGENTS.md", "Another language model",
		"<session_context>", "<hook_context>", "System: ",
	}, func(begin string) bool { return strings.HasPrefix(strings.TrimSpace(text), begin) })
}
