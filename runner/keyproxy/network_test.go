package keyproxy

import (
	"bufio"
	"context"
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
	"testing/synctest"
	"time"
)

// hanging is an API that says when a request has come, and when its client left.
func hanging(t *testing.T) (server *httptest.Server, came, gone chan struct{}) {
	came, gone = make(chan struct{}, 1), make(chan struct{}, 1)
	server, _ = api(t, func(_ http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	})
	return server, came, gone
}

// TestCancellationPasses: what costs nothing ends with its client. A request of a model
// ends with its invocation, see TestAnswersThatNobodyReadsAreCounted.
func TestCancellationPasses(t *testing.T) {
	upstream, came, gone := hanging(t)
	log := &lines{}
	p := start(t, Options{Vendors: vendors(upstream.URL), Log: log.add})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-came
		cancel()
	}()
	r := request(p.Open(toy, ""), "POST", "/v1/count", strings.NewReader("x")).WithContext(ctx)
	if answer, err := http.DefaultClient.Do(r); err == nil {
		t.Errorf("got %s, want it cancelled", answer.Status)
	}
	<-gone
	p.Close()
	if got := log.text(); got != "" {
		t.Errorf("log: got %q, want nothing of a client that left", got)
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	upstream, came, gone := hanging(t)
	p := start(t, Options{Vendors: vendors(upstream.URL)})
	answered := make(chan error, 1)
	go func() {
		_, err := http.DefaultTransport.RoundTrip(request(p.Open(toy, ""), "POST", "/v1/messages", strings.NewReader("x")))
		answered <- err
	}()
	<-came
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	<-gone
	if err := <-answered; err == nil {
		t.Error("a request under way: got an answer, want an error")
	}
	if p.calls.enter() {
		t.Error("a request was let in after the close")
	}
	if conn, err := net.Dial("tcp", p.address); err == nil {
		conn.Close()
		t.Error("the address still takes connections")
	}
	p.Close() // a second time does no harm
}

// TestCloseWaits holds that nothing of a request goes on after Close: here its log
// line, which takes longer than Close would.
func TestCloseWaits(t *testing.T) {
	logging, closed := make(chan struct{}), make(chan struct{})
	early := make(chan bool, 1)
	p := start(t, Options{Vendors: vendors("http://" + closedAddress(t)), Log: func(string) {
		close(logging)
		select {
		case <-closed:
			early <- true
		case <-time.After(100 * time.Millisecond):
			early <- false
		}
	}})
	go func() {
		if answer, err := plain.RoundTrip(request(p.Open(toy, ""), "POST", "/v1/messages", nil)); err == nil {
			answer.Body.Close()
		}
	}()
	<-logging
	p.Close()
	close(closed)
	if <-early {
		t.Error("Close returned while a request was under way")
	}
}

// TestSlowClientsAreWaitedFor: a client that has connected may take a while to ask, and to
// ask again.
func TestSlowClientsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		p := &Proxy{vendors: []*vendor{{api: toyAPI{toy}}}, served: make(chan struct{})}
		p.serve(&single{conn: server, closed: make(chan struct{})})
		defer func() {
			_ = p.server.Close()
			<-p.served
		}()
		answers := bufio.NewReader(client)
		for range 2 {
			<-time.After(20 * time.Minute)
			if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 401 {
				t.Errorf("got %s, %v, want 401", answer.Status, err)
			}
		}
	})
}

// single is a listener with one connection.
type single struct {
	conn   net.Conn
	closed chan struct{}
}

func (l *single) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *single) Close() error {
	close(l.closed)
	return nil
}

func (l *single) Addr() net.Addr { return &net.TCPAddr{} }

func TestProxyOfTheJobIsUsed(t *testing.T) {
	p := start(t, Options{Vendors: vendors("http://api.invalid")})
	answer, body := ask(t, p, nil)
	if want := "asked for http://api.invalid/v1/messages?beta=true with " + realKey; answer.StatusCode != 200 || body != want {
		t.Errorf("got %s %q, want %q", answer.Status, body, want)
	}
}

// TestFurtherAuthorities holds that a certificate is believed that only
// NODE_EXTRA_CA_CERTS vouches for, and no other.
func TestFurtherAuthorities(t *testing.T) {
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, r.Proto)
	}))
	upstream.EnableHTTP2 = true
	upstream.Config.ErrorLog = log.New(io.Discard, "", 0) // of those who do not believe it
	upstream.StartTLS()
	defer upstream.Close()
	good, bad := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "text")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw})
	if err := os.WriteFile(good, block, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file   string
		status int
		told   string
	}{
		{good, 200, "HTTP/2.0"}, {"", 502, "certificate"}, {bad, 502, "no certificate in"}, {bad + "x", 502, "no such file"},
	} {
		told := &lines{}
		p := start(t, Options{Vendors: vendors(upstream.URL), Log: told.add, Environ: []string{"NODE_EXTRA_CA_CERTS=" + c.file}})
		answer, body := ask(t, p, nil)
		if answer.StatusCode != c.status || !strings.Contains(body+told.text(), c.told) || (c.status == 200) != (told.text() == "") {
			t.Errorf("authorities of %q: got %s %q, log %q", c.file, answer.Status, body, told.text())
		}
	}
}
