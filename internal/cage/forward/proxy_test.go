package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// hang is the time after which a test gives up. It is long because the machine may be very busy.
const hang = 2 * time.Minute

// site is a web server and a proxy that resolves names with the test's own DNS server.
type site struct {
	*Proxy
	web *httptest.Server

	lock    sync.Mutex
	refused []string
}

// newSite starts a web server on 127.0.0.1 and a proxy with the given list. In the list, PORT is replaced
// with the server's port, and the prefix "tls " makes the server use TLS. A DNS server resolves every name:
// first to the given answers, one per query, and after that always to 127.0.0.1.
func newSite(t *testing.T, list string, o Options, answers ...string) *site {
	t.Helper()
	s := &site{}
	s.web = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s%s %v", r.Host, r.URL, r.Header["X-Forwarded-For"])
	}))
	if strings.HasPrefix(list, "tls ") {
		s.web.StartTLS()
	} else {
		s.web.Start()
	}
	t.Cleanup(s.web.Close)
	var err error
	o.List, err = Parse(strings.ReplaceAll(strings.TrimPrefix(list, "tls "), "PORT", s.port()))
	assert.NilError(t, err)
	o.OnRefused = func(target string) {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.refused = append(s.refused, target)
	}
	s.Proxy, err = Start(o)
	assert.NilError(t, err)
	t.Cleanup(s.Proxy.Close)
	server := nameServer(t, append(answers, "127.0.0.1"))
	s.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server)
	}}
	return s
}

// port returns the port of the web server.
func (s *site) port() string {
	_, port, _ := net.SplitHostPort(s.web.Listener.Addr().String())
	return port
}

// nameServer starts a DNS server that answers queries for IPv4 addresses with the given answers in turn.
// It repeats the last answer.
func nameServer(t *testing.T, answers []string) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	assert.NilError(t, err)
	t.Cleanup(func() { conn.Close() })
	go func() {
		for data := make([]byte, 1500); ; {
			n, from, err := conn.ReadFrom(data)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(data[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
				m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: [4]byte(net.ParseIP(answers[0]).To4())}}}
				if len(answers) > 1 {
					answers = answers[1:]
				}
			}
			if out, err := m.Pack(); err == nil {
				conn.WriteTo(out, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

// get fetches a URL through the proxy and returns the status and the body. If the proxy rejects a
// tunnel, it returns the proxy's response.
func (s *site) get(t *testing.T, address string) (int, string) {
	t.Helper()
	transport := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: s.address()}),
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			if answer.StatusCode == http.StatusOK {
				return nil
			}
			text, _ := io.ReadAll(answer.Body)
			return fmt.Errorf("%d %s", answer.StatusCode, text)
		},
	}
	answer, err := (&http.Client{Transport: transport}).Get(strings.ReplaceAll(address, "PORT", s.port()))
	if err != nil {
		var status int
		if u := errors.Unwrap(err); u != nil {
			fmt.Sscan(u.Error(), &status)
		}
		return status, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// address returns the address of the proxy.
func (s *site) address() string { return "127.0.0.1:" + strconv.Itoa(int(s.Port())) }

// refusals returns the rejected targets that the proxy has reported.
func (s *site) refusals() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Clone(s.refused)
}

func TestListedHostsAreReachable(t *testing.T) {
	s := newSite(t, "*.example.com:PORT 127.0.0.1:PORT", Options{})
	for _, host := range []string{"a.example.com:PORT", "127.0.0.1:PORT", "[::ffff:127.0.0.1]:PORT"} {
		status, text := s.get(t, "http://"+host+"/x?y=z")
		if want := "hello " + strings.ReplaceAll(host, "PORT", s.port()) + "/x?y=z []"; status != 200 || text != want {
			t.Errorf("%s: got %d %q, want %q", host, status, text, want)
		}
	}
	s = newSite(t, "tls a.example.com:PORT 127.0.0.1:PORT", Options{})
	if status, text := s.get(t, "https://a.example.com:PORT/x"); status != 200 || !strings.HasPrefix(text, "hello a.example.com") {
		t.Errorf("got %d %q", status, text)
	}
	assert.Check(t, is.Len(s.refusals(), 0), "refusals")
}

func TestOtherHostsAreRefused(t *testing.T) {
	s := newSite(t, "tls a.example.com:PORT 127.0.0.1:PORT", Options{})
	for _, c := range []struct{ address, add string }{
		{"http://b.example.com/", "add b.example.com to"},
		{"https://b.example.com/", "add b.example.com to"},
		{"https://a.example.com/", "add a.example.com to"},
		{"http://a.example.com:1/", "add a.example.com:1 to"},
		{"https://169.254.169.254/latest", "add 169.254.169.254 to"},
		{"http://[::1]:PORT/", "add [::1]:PORT to"},
	} {
		status, text := s.get(t, c.address)
		if want := strings.ReplaceAll(c.add, "PORT", s.port()) + " the input network"; status != 403 || !strings.Contains(text, want) {
			t.Errorf("%s: got %d %q, want %q", c.address, status, text, want)
		}
	}
	want := []string{
		"b.example.com:80", "b.example.com:443", "a.example.com:443", "a.example.com:1", "169.254.169.254:443", "[::1]:" + s.port(),
	}
	assert.Check(t, is.DeepEqual(s.refusals(), want), "refusals")
}

// TestListedNamesDontReachInternalAddresses checks that requests are rejected if a listed name resolves
// to this machine, in the first DNS answer or in a later one.
func TestListedNamesDontReachInternalAddresses(t *testing.T) {
	for _, answers := range [][]string{nil, {"169.254.169.254"}} {
		for _, scheme := range []string{"http", "https"} {
			s := newSite(t, "a.example.com:PORT", Options{}, answers...)
			for range 3 {
				status, text := s.get(t, scheme+"://a.example.com:PORT/")
				if status != 403 || !strings.Contains(text, "add 127.") && !strings.Contains(text, "never connects to") {
					t.Errorf("%s %q: got %d %q", scheme, answers, status, text)
				}
			}
			assert.Check(t, is.Len(s.refusals(), 3), "%s %q: want each one refused", scheme, answers)
		}
	}
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	s := newSite(t, "a.example.com:PORT 127.0.0.1:PORT", Options{})
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: a.example.com:PORT\r\n\r\n":                                                          "400",
		"GET https://a.example.com:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n":                                                 "400",
		"GET ftp://a.example.com:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n":                                                   "400",
		"CONNECT a.example.com:0 HTTP/1.1\r\nHost: x\r\n\r\n":                                                         "400",
		"CONNECT 127.1:PORT HTTP/1.1\r\nHost: x\r\n\r\n":                                                              "400",
		"CONNECT a..b:PORT HTTP/1.1\r\nHost: x\r\n\r\n":                                                               "400",
		"GET http://b.example.com/ HTTP/1.1\r\nHost: a.example.com:PORT\r\n\r\n":                                      "403",
		"CONNECT b.example.com:PORT HTTP/1.1\r\nHost: a.example.com:PORT\r\n\r\n":                                     "403",
		"GET http://a.example.com:PORT/ HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 2*mostHeaders) + "\r\n\r\n": "431",
	} {
		conn, err := net.Dial("tcp", s.address())
		assert.NilError(t, err)
		io.WriteString(conn, strings.ReplaceAll(request, "PORT", s.port()))
		line, err := bufio.NewReader(conn).ReadString('\n')
		conn.Close()
		assert.Check(t, is.Contains(line, " "+want+" "), "%.60q: got %q, %v, want %s", request, line, err, want)
	}
}

func TestUnreachableHostsGetGatewayErrors(t *testing.T) {
	s := newSite(t, "tls 127.0.0.1:1 a.example.com:1 127.0.0.1:PORT", Options{})
	for _, address := range []string{"http://127.0.0.1:1/", "https://127.0.0.1:1/", "https://a.example.com:1/"} {
		if status, text := s.get(t, address); status != 502 || !strings.Contains(text, "can't connect to") {
			t.Errorf("%s: got %d %q, want 502", address, status, text)
		}
	}
	answer := httptest.NewRecorder()
	s.fail(answer, target{host: "a.example.com", port: 443}, fmt.Errorf("dial: %w", os.ErrDeadlineExceeded))
	assert.Check(t, is.Equal(answer.Code, 504))
	assert.Check(t, is.Len(s.refusals(), 0), "refusals")
}

// TestJobProxyIsUsed checks that requests go through the job's own proxy, except for hosts in NO_PROXY,
// and that the list still applies.
func TestJobProxyIsUsed(t *testing.T) {
	behind := newSite(t, "a.example.com:PORT 127.0.0.1:PORT", Options{})
	var lock sync.Mutex
	var requests []string
	refuse := false
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		requests = append(requests, fmt.Sprintf("%s %s %s", r.Method, r.Host, r.Header.Get("Proxy-Authorization")))
		if refuse {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		behind.Proxy.ServeHTTP(w, r)
	}))
	defer upstream.Close()
	env := map[string]string{
		"HTTPS_PROXY": "http://me:secret@" + strings.TrimPrefix(upstream.URL, "http://"),
		"http_proxy":  upstream.URL, "NO_PROXY": "direct.example.com",
	}
	list := "a.example.com:" + behind.port() + " direct.example.com:PORT 127.0.0.1:PORT"
	s := newSite(t, list, Options{Getenv: func(name string) string { return env[name] }})
	at := "a.example.com:" + behind.port()
	status, text := s.get(t, "http://"+at+"/")
	assert.Check(t, is.Equal(status, 200), text)
	// The server doesn't speak TLS, so the request fails. The error shows that the tunnel reached the server.
	_, text = s.get(t, "https://"+at+"/")
	assert.Check(t, is.Contains(text, "HTTP response to HTTPS client"))
	status, text = s.get(t, "http://direct.example.com:PORT/")
	assert.Check(t, is.Equal(status, 200), text)
	status, text = s.get(t, "http://b.example.com/")
	assert.Check(t, is.Equal(status, 403), text)
	lock.Lock()
	want := []string{"GET " + at + " ", "CONNECT " + at + " Basic bWU6c2VjcmV0"}
	assert.Check(t, is.DeepEqual(requests, want))
	refuse = true
	lock.Unlock()
	status, text = s.get(t, "https://"+at+"/")
	assert.Check(t, status == 502 && strings.Contains(text, "407"), "got %d %q, want 502", status, text)
}

// openTunnel requests a tunnel to a server and sends data without waiting for the proxy's response.
func openTunnel(t *testing.T, p *Proxy, to string) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.Port()))
	assert.NilError(t, err)
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\n\r\nearly\r\n", to)
	reader := bufio.NewReader(conn)
	line, err := reader.ReadString('\n')
	assert.Assert(t, is.Contains(line, "200"), "got %q, %v", line, err)
	_, err = reader.ReadString('\n')
	assert.NilError(t, err)
	return conn.(*net.TCPConn), reader
}

// proxyTo starts a proxy whose list contains only the address of a server.
func proxyTo(t *testing.T, server net.Listener) *Proxy {
	t.Helper()
	list, err := Parse(server.Addr().String())
	assert.NilError(t, err)
	p, err := Start(Options{List: list})
	assert.NilError(t, err)
	return p
}

// TestServersEndTunnels checks that a tunnel ends when the server closes the connection.
func TestServersEndTunnels(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	p := proxyTo(t, server.Listener)
	defer p.Close()
	conn, reader := openTunnel(t, p, server.Listener.Addr().String())
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(hang))
	if text, err := io.ReadAll(reader); err != nil || !strings.Contains(string(text), "400 Bad Request") {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestCloseEndsTunnels checks that Close ends open tunnels and all goroutines. It also checks that data
// still arrives after a client has closed its sending half.
func TestCloseEndsTunnels(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	// The server returns a client's data after the client has closed its sending half.
	server, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer server.Close()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				text, _ := io.ReadAll(conn)
				fmt.Fprintf(conn, "got %s", text)
			}()
		}
	}()
	p := proxyTo(t, server)
	conn, reader := openTunnel(t, p, server.Addr().String())
	io.WriteString(conn, "late")
	conn.CloseWrite()
	if text, err := io.ReadAll(reader); string(text) != "got early\r\nlate" {
		t.Errorf("got %q, %v", text, err)
	}
	conn, reader = openTunnel(t, p, server.Addr().String())
	closed := make(chan struct{})
	go func() {
		p.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(hang):
		t.Fatal("the proxy does not end")
	}
	_, err = reader.ReadByte()
	assert.Check(t, err != nil, "the tunnel is still there")
	conn.Close()
	server.Close()
	for deadline := time.Now().Add(hang); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("got %d goroutines, want %d\n%s", runtime.NumGoroutine(), goroutines, stacks[:runtime.Stack(stacks, true)])
		}
	}
	if _, err := p.listener.Accept(); !errors.Is(err, net.ErrClosed) { // another program may use the port now
		t.Errorf("the proxy still listens: %v", err)
	}
}
