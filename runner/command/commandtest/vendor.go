package commandtest

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/clitest"
)

// question is what the agent asks the API, and answer what it gets.
type question struct {
	Model                string
	Prompts, Said, Tools []string
	Output               string
}

// take puts a conversation into the question.
func (q *question) take(lines []said) {
	for _, line := range lines {
		q.Output = ""
		switch line.Role {
		case "user":
			q.Prompts = append(q.Prompts, line.Text)
		case "model":
			q.Said = append(q.Said, line.Text)
		case "tool":
			q.Output = line.Text
		}
	}
}

type answer struct {
	Text, Shell, Write    string
	Input, Cached, Output int
	Message               string
	UsageLimit            bool
}

// Vendor is the small agent, which is the running test, and the API that it asks. A binary with the race detector in it waits a second at its end by
// default.
var Vendor = clitest.Vendor{
	Name: protocol.BackendCommand, Serve: serve,
	Vars:    func(_ testing.TB, url string) []string { return []string{urlVar + "=" + url} },
	Command: func(path string) string { return agentVar + "=1 GORACE=atexit_sleep_ms=0 exec '" + path + "'" },
}

// serve starts the API.
func serve(t testing.TB, m clitest.Model) string {
	t.Helper()
	return clitest.Serve(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
		var q question
		if err := json.Unmarshal(body, &q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply(w, r, m(clitest.Request{Model: q.Model, Prompts: q.Prompts, ModelTexts: q.Said, Output: q.Output, Tools: q.Tools}))
	})
}

func reply(w http.ResponseWriter, r *http.Request, said clitest.Reply) {
	if said.Status >= 400 {
		w.WriteHeader(said.Status)
	}
	if said.Hang {
		_, _ = w.Write([]byte(`{"Text": "`)) // a client that has gone is no matter of ours
		w.(http.Flusher).Flush()
		clitest.Hang(r)
	}
	_ = json.NewEncoder(w).Encode(answer{
		Text: said.Text, Shell: said.Shell, Write: said.Write, Input: said.Input, Cached: said.Cached, Output: said.Output,
		Message: said.Message, UsageLimit: said.UsageLimit,
	})
}
