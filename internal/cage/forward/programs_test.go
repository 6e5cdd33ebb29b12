//go:build world

package forward

import (
	"encoding/pem"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// program runs a program in a folder of its own, with the variables of Env and further
// ones, and returns what it says.
func (s *site) program(t *testing.T, list List, env []string, args ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	ca := filepath.Join(home, "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: s.web.Certificate().Raw}
	assert.NilError(t, os.WriteFile(ca, pem.EncodeToMemory(block), 0o600))
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = home
	cmd.Env = slices.Concat([]string{
		"HOME=" + home, "USERPROFILE=" + home, "PATH=" + os.Getenv("PATH"), "GOFLAGS=-modcacherw",
		"GIT_SSL_CAINFO=" + ca, "NODE_EXTRA_CA_CERTS=" + ca, "SSL_CERT_FILE=" + ca, "npm_config_cafile=" + ca,
	}, Env(list, s.Port()), env)
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// programs ask a server that has this name for each of them. Whether they are content with
// its answer is their own matter.
var programs = []struct {
	name string
	env  string
	args []string
}{
	{name: "git", args: []string{"git", "ls-remote", "https://git.example.com:PORT/repo.git"}},
	{name: "npm", args: []string{"npm", "install", "--registry", "https://npm.example.com:PORT", "thing"}},
	{
		name: "go", env: "GOPROXY=https://go.example.com:PORT GOSUMDB=off GOTOOLCHAIN=local",
		args: []string{"go", "mod", "download", "-json", "go.example.com/thing@v1.0.0"},
	},
	{name: "node", args: []string{"node", "-e", "fetch('https://node.example.com:PORT/hello').then(r => r.text()).then(console.log)"}},
}

// counted counts the requests to a handler.
func counted(n *atomic.Int32, to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		to.ServeHTTP(w, r)
	})
}

// TestProgramsFindTheProxy: what is listed is reached by it. When they try what isn't, with a
// list and without, none of them asks again. npm looks for a newer version of itself besides.
func TestProgramsFindTheProxy(t *testing.T) {
	for _, list := range []string{"tls *.example.com:PORT 127.0.0.1:PORT", "tls none", "tls other.example.org"} {
		for _, p := range programs {
			t.Run(list+" "+p.name, func(t *testing.T) {
				s := newSite(t, list, Options{})
				var asked, reached atomic.Int32
				s.server.Handler, s.web.Config.Handler = counted(&asked, s.Proxy), counted(&reached, http.NotFoundHandler())
				args, env := s.fill(t, p.args), s.fill(t, strings.Fields(p.env))
				said, err := s.program(t, s.list, env, args...)
				if strings.Contains(list, "*") {
					if reached.Load() == 0 || len(s.toldOf()) > 0 {
						t.Errorf("got %v, %d requests, told of %q, want a request: %s", err, reached.Load(), s.toldOf(), said)
					}
					return
				}
				if want := p.name + ".example.com:" + s.port(); err == nil || asked.Load() > 2 || !slices.Equal(slices.Compact(s.toldOf()), []string{want}) {
					t.Errorf("got %v after %d requests, told of %q, want one or two for %q: %s", err, asked.Load(), s.toldOf(), want, said)
				}
			})
		}
	}
}

// fill replaces what a site knows in words.
func (s *site) fill(t *testing.T, words []string) []string {
	t.Helper()
	var out []string
	for _, word := range words {
		if word == "node" {
			word = installtest.Node(t)
		}
		out = append(out, strings.ReplaceAll(word, "PORT", s.port()))
	}
	return out
}
