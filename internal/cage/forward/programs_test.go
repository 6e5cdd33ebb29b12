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

// program runs a program in an empty directory and returns its output. The program's environment
// contains the variables from Env, and env.
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
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// programs are commands that each send a request to a host named after the program. The host's response
// need not be valid for the program.
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

// countRequests returns a handler that counts requests and passes them to another handler.
func countRequests(n *atomic.Int32, to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		to.ServeHTTP(w, r)
	})
}

// TestProgramsUseTheProxy checks that programs reach a listed host through the proxy. It also checks
// that they don't retry a request that the proxy rejects, under a list of hosts and under the network
// "none". Two requests are allowed, because npm also looks for a newer version of itself.
func TestProgramsUseTheProxy(t *testing.T) {
	for _, list := range []string{"tls *.example.com:PORT 127.0.0.1:PORT", "tls none", "tls other.example.org"} {
		for _, p := range programs {
			t.Run(list+" "+p.name, func(t *testing.T) {
				s := newSite(t, list, Options{})
				var asked, reached atomic.Int32
				s.server.Handler, s.web.Config.Handler = countRequests(&asked, s.Proxy), countRequests(&reached, http.NotFoundHandler())
				args, env := s.fill(t, p.args), s.fill(t, strings.Fields(p.env))
				output, err := s.program(t, s.list, env, args...)
				if strings.Contains(list, "*") {
					if reached.Load() == 0 || len(s.refusals()) > 0 {
						t.Errorf("got %v, %d requests, refused %q, want a request: %s", err, reached.Load(), s.refusals(), output)
					}
					return
				}
				if want := p.name + ".example.com:" + s.port(); err == nil || asked.Load() > 2 || !slices.Equal(slices.Compact(s.refusals()), []string{want}) {
					t.Errorf("got %v after %d requests, refused %q, want one or two for %q: %s", err, asked.Load(), s.refusals(), want, output)
				}
			})
		}
	}
}

// fill returns the words with "node" replaced by the path of Node, and PORT by the port of the site's
// web server.
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
