// Package agenttest has what the tests of all agent CLIs share: a model that is scripted
// once, and asked through each vendor's API by the real CLI; and, with Replay, recordings of
// what the real CLIs were seen to print.
//
// It knows no vendor.
package agenttest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// Asked is one request of a CLI for the model's next message.
type Asked struct {
	Model string // that is asked for
	// Prompts are the texts of users in the conversation, the oldest first, without what the
	// CLI adds by itself. Said are the model's own messages.
	Prompts, Said []string
	// Output is what the tool that the model has used last brought; "" when the newest message
	// is a user's.
	Output string
	// Used counts the uses of tools since the newest prompt, for Claude Code alone.
	Used  int
	Tools []string // that the model may use, by the CLI's names
	Key   string   // the credential that came with the request
	Body  []byte   // the request as it came
}

// Last is the newest prompt.
func (a Asked) Last() string {
	if len(a.Prompts) == 0 {
		return ""
	}
	return a.Prompts[len(a.Prompts)-1]
}

// Reply is the model's next message, or an error of the API when Status is from 400 on.
type Reply struct {
	Text  string
	Shell string // a command that the model asks for, with the CLI's own tool
	Write string // a path at which it asks for a file, with the CLI's own tool where it has one
	// Use and With are another tool, and what it is given, for Claude Code alone.
	Use  string
	With map[string]any
	// Input, Cached and Output are the tokens that the API reports: of the input without and
	// from the cache, and of the output.
	Input, Cached, Output int

	Status     int
	Message    string // of the error
	RetryAfter string // header
	UsageLimit bool   // a 429 that means a used up plan, as far as the vendor has such
	Cut        bool   // the answer breaks off after its first piece
	Hang       bool   // it goes no further after its first piece, until the client leaves
}

// Model is a scripted model. It may be called by several goroutines at once.
type Model func(Asked) Reply

// Words are those of the error that the reply is.
func (r Reply) Words() string { return cmp.Or(r.Message, fmt.Sprintf("scripted error %d", r.Status)) }

// Tokens are those that the API reports.
func (r Reply) Tokens() (input, cached, output int) {
	if r.Input+r.Cached+r.Output == 0 {
		return 100, 0, 20
	}
	return r.Input, r.Cached, r.Output
}

// Server is a scripted API on loopback.
type Server struct {
	URL string

	closing chan struct{}

	mu    sync.Mutex
	asked []Asked // guarded by mu
}

// Serve starts a server that lives as long as the test.
func Serve(t testing.TB, handle func(s *Server, w http.ResponseWriter, r *http.Request, body []byte)) *Server {
	t.Helper()
	s := &Server{closing: make(chan struct{})}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			handle(s, w, r, body)
		}
	}))
	s.URL = h.URL
	t.Cleanup(func() {
		close(s.closing)
		h.CloseClientConnections() // one may hang
		h.Close()
	})
	return s
}

// Note adds to what was asked, and returns how often that was.
func (s *Server) Note(a Asked) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, a)
	return len(s.asked)
}

// BreakOff ends an answer that has begun without its end. One that hangs waits before until
// the client has left.
func (s *Server) BreakOff(r *http.Request, hangs bool) {
	if hangs {
		select {
		case <-r.Context().Done():
		case <-s.closing:
		}
	}
	panic(http.ErrAbortHandler)
}

// Environ is a whole environment with the home folder home and more, with none of the caller's
// variables but PATH.
func Environ(home string, more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "LANG=C.UTF-8", "NO_PROXY=*"}, more...)
}

// Event sends one server-sent event of a type at once. It is no error that the client has left.
func Event(w http.ResponseWriter, kind string, fields map[string]any) {
	fields["type"] = kind
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, Marshalled(fields))
	_ = http.NewResponseController(w).Flush()
}

// Marshalled is the JSON of what has one.
func Marshalled(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// Vendor is an agent CLI with an API of its own, for tests that run with each.
type Vendor struct {
	Name string      // one of protocol.Backends
	Pin  program.Pin // of which the real CLI is installed
	// Find, where it is not nil, makes ready what the CLI needs, and returns the path of one that is not installed, or "".
	Find func(t testing.TB) string
	// Serve starts an API that asks m, until the test ends, and returns its URL.
	Serve func(t testing.TB, m Model) string
	// Vars are the variables with which the CLI uses the API at url.
	Vars func(url string) []string
	// Command is the agent command that runs the CLI at path; nil where raymond knows the CLI.
	Command func(path string) string
}

// Install returns the path of the CLI, of a real one in the version that is pinned or that the variable RAYMOND_TEST_ with the
// vendor's name names: one like "0.61.0", "newest" for the newest on the registry. It ends the test when there is none, with the
// command to run. See installtest.CLI.
func (v Vendor) Install(t testing.TB) string {
	t.Helper()
	if v.Find != nil {
		if path := v.Find(t); path != "" {
			return path
		}
	}
	cli := installtest.CLI{
		Name: v.Name, Package: v.Pin.Package, Pinned: v.Pin.Version(), Files: v.Pin.Files, Dir: "runner/" + v.Name + "/npm", Var: "RAYMOND_TEST_" + strings.ToUpper(v.Name),
	}
	path, err := v.Pin.Binary(cli.Install(t))
	assert.NilError(t, err)
	return path
}

// Flags are those of raymond run with which it uses the CLI at path.
func (v Vendor) Flags(path string) []string {
	if v.Command != nil {
		return []string{"--agent-command", v.Command(path)}
	}
	return []string{"--agent", v.Name, "--" + v.Name, path}
}

// Environ is what the CLI needs in its environment to use the API at url with the home folder home, without anything of this
// machine's user.
func (v Vendor) Environ(url, home string) []string { return Environ(home, v.Vars(url)...) }
