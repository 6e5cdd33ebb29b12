package forward

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/raymond-action/raymond-action/internal/nodetest"
)

// program runs a program in a folder of its own, with the variables of Env and further
// ones, and returns what it says.
func (s *site) program(t *testing.T, list List, env []string, args ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	ca := filepath.Join(home, "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: s.web.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = home
	cmd.Env = slices.Concat([]string{
		"HOME=" + home, "USERPROFILE=" + home, "PATH=" + os.Getenv("PATH"), "GOFLAGS=-modcacherw",
		"GIT_SSL_CAINFO=" + ca, "NODE_EXTRA_CA_CERTS=" + ca, "SSL_CERT_FILE=" + ca, "npm_config_cafile=" + ca,
	}, Env(list, s.Port()), env)
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// serveFiles lets the server of a site have files, by their paths.
func (s *site) serveFiles(files map[string][]byte) {
	s.web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if data, ok := files[r.URL.Path]; ok {
			w.Write(data)
			return
		}
		http.NotFound(w, r)
	})
}

// programs fetch something from a server that has this name for each of them, and say
// in their output that they have got it.
var programs = []struct {
	name string
	got  string
	env  string
	args []string
}{
	{name: "git", got: "refs/heads/main", args: []string{"git", "ls-remote", "https://git.example.com:PORT/repo.git"}},
	{name: "npm", got: "added 1 package", args: []string{"npm", "install", "--registry", "https://npm.example.com:PORT", "thing"}},
	{
		name: "go", got: `"Version": "v1.0.0"`, env: "GOPROXY=https://go.example.com:PORT GOSUMDB=off GOTOOLCHAIN=local",
		args: []string{"go", "mod", "download", "-json", "go.example.com/thing@v1.0.0"},
	},
	{name: "node", got: "hello", args: []string{"node", "-e", "fetch('https://node.example.com:PORT/hello').then(r => r.text()).then(console.log)"}},
}

func TestProgramsFindTheProxy(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			s := newSite(t, "tls *.example.com:PORT 127.0.0.1:PORT", Options{})
			s.serveFiles(registry(t, "https://npm.example.com:"+s.port()))
			args, env := s.fill(t, p.args), s.fill(t, strings.Fields(p.env))
			said, err := s.program(t, s.list, env, args...)
			if err != nil || !strings.Contains(said, p.got) {
				t.Errorf("got %v %s", err, said)
			}
			if told := s.toldOf(); len(told) > 0 {
				t.Errorf("told of %q", told)
			}
		})
	}
}

// TestProgramsEndSoon lets the same programs try what isn't listed: none of them asks
// again, with a list and without. npm looks for a newer version of itself besides.
func TestProgramsEndSoon(t *testing.T) {
	for _, list := range []string{"tls none", "tls other.example.org"} {
		for _, p := range programs {
			t.Run(list+" "+p.name, func(t *testing.T) {
				s := newSite(t, list, Options{})
				var asked atomic.Int32
				s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					s.ServeHTTP(w, r)
				})
				args, env := s.fill(t, p.args), s.fill(t, strings.Fields(p.env))
				said, err := s.program(t, s.list, env, args...)
				if want := p.name + ".example.com:" + s.port(); err == nil || asked.Load() > 2 || !slices.Equal(s.toldOf(), []string{want}) {
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
			word = nodetest.Install(t)
		}
		out = append(out, strings.ReplaceAll(word, "PORT", s.port()))
	}
	return out
}

// registry is what the programs fetch: a package, a module, a repository, a text.
func registry(t *testing.T, npm string) map[string][]byte {
	t.Helper()
	tarball := packed(t, `{"name":"thing","version":"1.0.0"}`)
	sum := sha1.Sum(tarball)
	about, err := json.Marshal(map[string]any{
		"name": "thing", "dist-tags": map[string]string{"latest": "1.0.0"},
		"versions": map[string]any{"1.0.0": map[string]any{
			"name": "thing", "version": "1.0.0",
			"dist": map[string]string{"tarball": npm + "/thing.tgz", "shasum": hex.EncodeToString(sum[:])},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const module = "/go.example.com/thing/@v/v1.0.0"
	return map[string][]byte{
		"/hello": []byte("hello"),
		"/thing": about, "/thing.tgz": tarball,
		module + ".info":                     []byte(`{"Version":"v1.0.0"}`),
		module + ".mod":                      []byte("module go.example.com/thing\n"),
		module + ".zip":                      zipped(t, "go.example.com/thing@v1.0.0/go.mod", "module go.example.com/thing\n"),
		"/repo.git/HEAD":                     []byte("ref: refs/heads/main\n"),
		"/repo.git/info/refs":                fmt.Appendf(nil, "%040d\trefs/heads/main\n", 1),
		"/-/npm/v1/security/advisories/bulk": []byte("{}"),
	}
}

func packed(t *testing.T, about string) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	files := tar.NewWriter(compressed)
	files.WriteHeader(&tar.Header{Name: "package/package.json", Mode: 0o644, Size: int64(len(about))})
	files.Write([]byte(about))
	files.Close()
	compressed.Close()
	return out.Bytes()
}

func zipped(t *testing.T, name, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	files := zip.NewWriter(&out)
	w, err := files.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(text))
	files.Close()
	return out.Bytes()
}
