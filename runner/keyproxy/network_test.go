package keyproxy

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestEndOfAnInvocationEndsItsRequests checks that closing an account ends its requests, even if their
// responses have begun, and that closing the proxy ends all requests.
func TestEndOfAnInvocationEndsItsRequests(t *testing.T) {
	came, gone := make(chan struct{}, 1), make(chan struct{}, 1)
	upstream, _ := api(t, func(_ http.ResponseWriter, r *http.Request) { // never responds
		came <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	})
	p := start(t, Options{Vendors: vendors(upstream.URL)})
	one, two := p.Open(toy, "one"), p.Open(toy, "two")
	for _, c := range []struct {
		a   *Account
		end func()
	}{{one, func() { one.closeAfter(0) }}, {two, func() { p.Close() }}} {
		answered := make(chan error, 1)
		go func() {
			_, err := http.DefaultTransport.RoundTrip(request(c.a, "POST", "/v1/messages", strings.NewReader("x")))
			answered <- err
		}()
		<-came
		c.end()
		<-gone
		assert.Check(t, <-answered != nil, "a request under way: got an answer, want an error")
		if c.a == one {
			answer, _ := ask(t, p, forAccount(one))
			assert.Check(t, answer.StatusCode == 401 && len(came) == 0, "after the end: got %s, want 401, and nothing forwarded", answer.Status)
		}
	}
	if conn, err := net.Dial("tcp", p.address); err == nil {
		conn.Close()
		t.Error("the address still takes connections")
	}
	p.Close() // a second call has no effect
}

// TestProxyOfTheJobIsUsed checks that requests to the API go through the job's own proxy.
func TestProxyOfTheJobIsUsed(t *testing.T) {
	p := start(t, Options{Vendors: vendors("http://api.invalid")})
	answer, body := ask(t, p, nil)
	want := "asked for http://api.invalid/v1/messages?beta=true with " + strings.Repeat("*", len(realKey))
	assert.Check(t, answer.StatusCode == 200 && body == want, "got %s %q, want %q", answer.Status, body, want)
}

// TestFurtherAuthorities checks that the proxy accepts the API's certificate only if an authority in
// NODE_EXTRA_CA_CERTS has signed it.
func TestFurtherAuthorities(t *testing.T) {
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, r.Proto)
	}))
	upstream.EnableHTTP2 = true
	upstream.Config.ErrorLog = log.New(io.Discard, "", 0) // drops messages about clients that reject the certificate
	upstream.StartTLS()
	defer upstream.Close()
	good, bad := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "text")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw})
	assert.NilError(t, os.WriteFile(good, block, 0o600))
	assert.NilError(t, os.WriteFile(bad, []byte("nothing"), 0o600))
	for _, c := range []struct {
		file    string
		status  int
		wantLog string
	}{
		{good, 200, "HTTP/2.0"}, {"", 502, "certificate"}, {bad, 502, "no certificate in"}, {bad + "x", 502, "no such file"},
	} {
		logged := &lines{}
		p := start(t, Options{Vendors: vendors(upstream.URL), Log: logged.add, Environ: []string{"NODE_EXTRA_CA_CERTS=" + c.file}})
		answer, body := ask(t, p, nil)
		assert.Check(t, answer.StatusCode == c.status && strings.Contains(body+logged.text(), c.wantLog) && (c.status == 200) == (logged.text() == ""), "authorities of %q: got %s %q, log %q", c.file, answer.Status, body, logged.text())
	}
}

// stuckClient is a client that reads nothing.
type stuckClient struct {
	*httptest.ResponseRecorder
	came, leave chan struct{}
}

// Write signals that the response has begun, blocks until leave is closed, and fails.
func (s stuckClient) Write([]byte) (int, error) {
	close(s.came)
	<-s.leave
	return 0, io.ErrClosedPipe
}

// TestClientThatReadsNothingDelaysNothing checks that a client that doesn't read its response doesn't delay
// the end of an invocation.
func TestClientThatReadsNothingDelaysNothing(t *testing.T) {
	upstream, _ := api(t, nil)
	p := start(t, Options{Vendors: vendors(upstream.URL)})
	a := p.Open(toy, "one")
	w, over := stuckClient{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}, make(chan struct{})
	go func() {
		defer close(over)
		defer func() { _ = recover() }() // the handler aborts the connection
		p.server.Handler.ServeHTTP(w, request(a, http.MethodPost, "/v1/messages", http.NoBody))
	}()
	<-w.came
	a.closeAfter(0)
	close(w.leave)
	<-over
}
