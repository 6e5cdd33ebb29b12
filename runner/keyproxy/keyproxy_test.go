package keyproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// realKey is the API key that must reach only the API.
const realKey = "sk-ant-api03-the-real-key"

// TestMain starts a proxy that acts as the job's own proxy, and sets HTTP_PROXY to its URL. It does so
// before all tests, because net/http reads the environment only once.
func TestMain(m *testing.M) {
	company := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "asked for %s with %s", r.RequestURI, r.Header.Get("X-Api-Key"))
	}))
	os.Setenv("HTTP_PROXY", company.URL)
	os.Exit(m.Run())
}

// seen contains a description of each request that an API received.
type seen struct {
	mu       sync.Mutex // guards requests
	requests []string
}

// all returns the descriptions of all requests so far.
func (s *seen) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// api starts an upstream API that responds with answer. If answer is nil, it responds with "pong".
func api(t testing.TB, answer http.HandlerFunc) (*httptest.Server, *seen) {
	t.Helper()
	s := &seen{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, fmt.Sprintf("%s %s %s%s key=%q auth=%q %s", r.Method, r.RequestURI,
			r.Header.Get("Anthropic-Beta"), r.Header["Accept-Encoding"], r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"), body))
		s.mu.Unlock()
		if answer == nil {
			io.WriteString(w, "pong")
			return
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server, s
}

// start starts a proxy that is closed when the test ends.
func start(t testing.TB, o Options) *Proxy {
	t.Helper()
	p, err := Start(o)
	assert.NilError(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

// plainClient is a client that adds no headers to a request.
var plainClient = &http.Transport{DisableCompression: true}

// ask sends a request of the agent CLI, changed by change, and returns the response and its whole body.
func ask(t testing.TB, p *Proxy, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r := request(p.Open(toy, ""), "POST", "/v1/messages?beta=true", strings.NewReader("ping"))
	r.Header.Set("Anthropic-Beta", "a,b")
	if change != nil {
		change(r)
	}
	answer, err := plainClient.RoundTrip(r)
	assert.NilError(t, err, "%s %s", r.Method, r.URL)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	assert.NilError(t, err, "%s %s", r.Method, r.URL)
	return answer, string(body)
}

// bearer returns a function that sets a credential as a request's bearer token.
func bearer(token string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del("X-Api-Key")
		r.Header.Set("Authorization", "Bearer "+token)
	}
}

// TestUnauthorizedRequestsAreRefused checks which requests are rejected, and that the error response has the
// API's format.
func TestUnauthorizedRequestsAreRefused(t *testing.T) {
	upstream, got := api(t, nil)
	p := start(t, Options{Vendors: vendors(upstream.URL)})
	a, b := p.Open(toy, ""), p.Open(toy, "")
	key := func(key string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Api-Key", key) }
	}
	for name, c := range map[string]struct {
		method, path string
		change       func(*http.Request)
		status       int
	}{
		"no credential":   {"POST", "/v1/messages", func(r *http.Request) { r.Header.Del("X-Api-Key") }, 401},
		"empty":           {"POST", "/v1/messages", key(""), 401},
		"the real key":    {"POST", "/v1/messages", key(realKey), 401},
		"a beginning":     {"POST", "/v1/messages", key(a.credential[:20]), 401},
		"empty token":     {"POST", "/v1/messages", bearer(""), 401},
		"another token":   {"POST", "/v1/messages", bearer(a.credential + "x"), 401},
		"another agent's": {"POST", "/v1/messages", key(b.credential), 401},
		"another path":    {"GET", "/v1/files", nil, 404},
		"an escaped one":  {"POST", "/v1/%6dessages", nil, 404},
		"another method":  {"DELETE", "/v1/messages", nil, 404},
		"an upgrade": {"GET", "/v1/messages", func(r *http.Request) {
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "websocket")
		}, 404},
	} {
		answer, body := ask(t, p, func(r *http.Request) {
			*r = *request(a, c.method, c.path, nil)
			if c.change != nil {
				c.change(r)
			}
		})
		var got struct {
			Status int
			Error  string
		}
		err := json.Unmarshal([]byte(body), &got)
		assert.Check(t, err == nil && answer.StatusCode == c.status && got.Status == c.status && got.Error != "", "%s: got %s %s, %v, want %d", name, answer.Status, body, err, c.status)
	}
	assert.Check(t, is.Len(got.all(), 0), "what the API got")
	answer, body := ask(t, p, func(r *http.Request) { *r = *request(a, "GET", "/v1/messages", nil) })
	assert.Check(t, answer.StatusCode == 200 && body == "pong", "without an upgrade: got %s %q", answer.Status, body)
}

// TestRequestsInProxyFormAreRefused checks that requests are rejected if a client uses the key proxy as an
// HTTP proxy for other hosts.
func TestRequestsInProxyFormAreRefused(t *testing.T) {
	upstream, got := api(t, nil)
	p := start(t, Options{Vendors: vendors(upstream.URL)})
	a := p.Open(toy, "")
	own := strings.TrimPrefix(a.Access().URL, "http://"+p.address)
	for line, status := range map[string]string{
		"CONNECT example.com:443 HTTP/1.1": "401", "POST http://example.com/v1/messages HTTP/1.1": "401",
		"GET http://example.com" + own + "/v1/files HTTP/1.1": "404",
	} {
		conn, err := net.Dial("tcp", p.address)
		assert.NilError(t, err)
		fmt.Fprintf(conn, "%s\r\nHost: example.com\r\nX-Api-Key: %s\r\nConnection: close\r\n\r\n", line, a.credential)
		answer, err := io.ReadAll(conn)
		conn.Close()
		assert.Check(t, err == nil && bytes.HasPrefix(answer, []byte("HTTP/1.1 "+status)) && len(got.all()) == 0, "%s: got %q, %v, the API got %q", line, answer, err, got.all())
	}
}

// lines collects log lines.
type lines struct {
	mu  sync.Mutex // guards all
	all []string
}

// add adds a line.
func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

// text returns all lines as one text.
func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// TestNoTextContainsTheKey checks that no log line, error or response of the proxy contains a key, even if an
// error quotes it.
func TestNoTextContainsTheKey(t *testing.T) {
	const otherKey = "AIza-the-real-key-of-the-other"
	log := &lines{}
	both := append(vendors("http://"+realKey+".invalid:1"), Vendor{API: toyAPI{"other"}, Credential: Credential{Text: otherKey}})
	p := start(t, Options{Vendors: both, Log: log.add})
	p.log("key " + realKey + ", other key " + otherKey)
	recorder := httptest.NewRecorder()
	r := request(p.Open(toy, ""), "POST", "/v1/messages", nil)
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, &exchange{account: p.Open(toy, "")}))
	p.unreachable(recorder, r, fmt.Errorf("header %q: Bearer %s", realKey, otherKey))
	for _, text := range append(slices.Concat(p.Open(toy, "").Env(nil), p.Open("other", "").Env(nil)), log.text(), recorder.Body.String()) {
		assert.Check(t, !strings.Contains(text, "the-real"), "a secret is in %q", text)
	}
	assert.Check(t, is.Contains(recorder.Body.String(), "Bearer ***"))
}

// TestOptionsAreChecked checks that Start rejects invalid options, and that its error contains no secret.
func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct{ key, upstream string }{
		{"", ""},
		{"sk-secret\nX: y", ""},
		{"sk-sécret", ""},
		{"sk", "ftp://secret"},
		{"sk", "https://"},
		{"sk", "https://me:secret@host"},
		{"sk", "https://host/?secret"},
		{"sk", "https://secret:port"},
	} {
		p, err := Start(Options{Vendors: []Vendor{{API: toyAPI{toy}, Upstream: c.upstream, Credential: Credential{Text: c.key}}}})
		if err == nil {
			p.Close()
			t.Errorf("%+v: got no error", c)
			continue
		}
		assert.Check(t, !strings.Contains(err.Error(), "secret"), "%+v: got %q", c, err)
		assert.Check(t, strings.HasPrefix(err.Error(), "start key proxy for toy: "), "%+v: got %q", c, err)
	}
}
