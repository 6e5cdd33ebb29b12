package commandtest

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/clitest"
)

// modelRequest is a request to the API of the test's agent CLI.
type modelRequest struct {
	Model                string
	Prompts, Said, Tools []string
	Output               string
}

// modelResponse is a response of the API of the test's agent CLI.
type modelResponse struct {
	Text, Shell, Write    string
	Input, Cached, Output int
	Message               string
	UsageLimit            bool
}

// Vendor describes the small agent CLI, which is the running test binary, and its API. The command sets
// GORACE, because a binary with the race detector would otherwise wait a second before it exits.
var Vendor = clitest.Vendor{
	Name: protocol.BackendCommand, Serve: serve,
	Vars:    func(_ testing.TB, url string) []string { return []string{urlVar + "=" + url} },
	Command: func(path string) string { return agentVar + "=1 GORACE=atexit_sleep_ms=0 exec '" + path + "'" },
}

// serve starts the API, whose responses m chooses, and returns its URL.
func serve(t testing.TB, m clitest.Model) string {
	t.Helper()
	return clitest.Serve(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
		var q modelRequest
		if err := json.Unmarshal(body, &q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply(w, r, m(clitest.Request{Model: q.Model, Prompts: q.Prompts, ModelTexts: q.Said, Output: q.Output, Tools: q.Tools}))
	})
}

// reply sends the Model's reply. If m.Hang is set, it sends only the beginning of a response and then
// waits.
func reply(w http.ResponseWriter, r *http.Request, m clitest.Reply) {
	if m.Status >= 400 {
		w.WriteHeader(m.Status)
	}
	if m.Hang {
		_, _ = w.Write([]byte(`{"Text": "`)) // returns an error if the client has left
		w.(http.Flusher).Flush()
		clitest.Hang(r)
	}
	_ = json.NewEncoder(w).Encode(modelResponse{
		Text: m.Text, Shell: m.Shell, Write: m.Write, Input: m.Input, Cached: m.Cached, Output: m.Output,
		Message: m.Message, UsageLimit: m.UsageLimit,
	})
}
