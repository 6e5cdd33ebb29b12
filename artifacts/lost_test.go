package artifacts_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// TestAStoreWhoseAnswerIsLostIsKnown: the service has stored it, and says
// something else or nothing. What comes back names the one artifact there is.
func TestAStoreWhoseAnswerIsLostIsKnown(t *testing.T) {
	for name, as := range map[string]func(*artifactstest.Server){
		"GitHub": func(*artifactstest.Server) {}, "one that makes a second": func(s *artifactstest.Server) { s.Manner.FinalTwice = true },
		"Gitea": (*artifactstest.Server).AsGitea,
	} {
		for _, status := range []int{0, 404, 409, 500, 503} {
			if name == "Gitea" && status/100 == 4 {
				continue // it tells no digest: nothing says whose it is
			}
			s := artifactstest.New(t)
			as(s)
			s.Fail(artifactstest.Fault{Op: "FinalizeArtifact", Times: 1, Status: status, After: true})
			a, err := upload(t, runtimeOf(t, s, 7, &waits{}, nil), "one", []byte("abc"))
			all := s.All()
			if err != nil || len(all) != 1 || a.ID != all[0].ID || a.Digest != all[0].Digest {
				t.Errorf("%s, status %d: Upload = %+v, %v; the service has %+v", name, status, a, err, all)
			}
		}
	}
}

// TestAStoreThatIsRefusedIsAnError: another artifact of that name is not ours.
func TestAStoreThatIsRefusedIsAnError(t *testing.T) {
	for _, status := range []int{404, 409} {
		s := artifactstest.New(t)
		s.Fail(artifactstest.Fault{Op: "FinalizeArtifact", Times: 9, Status: status})
		r := runtimeOf(t, s, 7, &waits{}, nil)
		s.Put(artifactstest.Stored{Run: 8, Name: "one", Content: []byte("abc")})
		if a, err := upload(t, r, "one", []byte("abc")); err == nil {
			t.Errorf("status %d: Upload = %+v, want an error", status, a)
		}
	}
}

// TestAServiceThatHangsIsGivenUp: over all tries, and wherever it hangs.
func TestAServiceThatHangsIsGivenUp(t *testing.T) {
	const idle = 3 * time.Minute
	for _, hangs := range []string{"ListArtifacts", "GetSigned", "/content/", "CreateArtifact", "comp=block&", "FinalizeArtifact"} {
		s := artifactstest.New(t)
		s.Put(artifactstest.Stored{Run: 7, Name: "old", Content: make([]byte, 1<<20)})
		timed(t, s, hanging(hangs), func(t *testing.T, r *artifacts.Runtime) {
			began := time.Now()
			list, err := r.List(t.Context(), "old")
			if err == nil && hangs != "CreateArtifact" && hangs != "comp=block&" && hangs != "FinalizeArtifact" {
				_, err = download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 2<<20, f) })
			} else if err == nil {
				_, err = upload(t, r, "new", []byte("abc"))
			}
			if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "stopped answering") || took > 3*idle {
				t.Errorf("%s hangs: got %v after %v, want an error soon after %v", hangs, err, took, idle)
			}
		})
	}
}

// timed runs a test with the service behind a server of its own, where time passes only
// while all wait. The server answers as answer does.
func timed(t *testing.T, s *artifactstest.Server, answer func(w http.ResponseWriter, r *http.Request, status int, body string), test func(*testing.T, *artifacts.Runtime)) {
	t.Helper()
	const address = "http://service.test"
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			s.Config.Handler.ServeHTTP(rec, r)
			answer(w, r, rec.Code, strings.ReplaceAll(rec.Body.String(), s.URL, address))
		})}
		go server.Serve(l)
		transport, usual := &http.Transport{DialContext: l.dial}, http.DefaultTransport
		http.DefaultTransport = transport
		defer func() {
			http.DefaultTransport = usual
			transport.CloseIdleConnections()
			server.Close()
		}()
		r, err := artifacts.NewRuntime(artifacts.Options{URL: address, Token: artifactstest.Token(7), Calls: forge.Calls{Sleep: (&waits{}).sleep}})
		if err != nil {
			t.Fatal(err)
		}
		test(t, r)
	})
}

// pipes is a listener without a network.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

// hanging answers all but some requests, of which a content sends its first half.
func hanging(op string) func(http.ResponseWriter, *http.Request, int, string) {
	return func(w http.ResponseWriter, r *http.Request, status int, body string) {
		if strings.Contains(r.URL.Path+"?"+r.URL.RawQuery, op) {
			if op == "/content/" {
				io.WriteString(w, body[:len(body)/2])
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
			return
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// TestASlowContentArrives: what moves is not given up, however long it takes.
func TestASlowContentArrives(t *testing.T) {
	const idle = 3 * time.Minute
	s := artifactstest.New(t)
	s.Put(artifactstest.Stored{Run: 7, Name: "old", Content: []byte("abcdefgh")})
	slowly := func(w http.ResponseWriter, r *http.Request, _ int, body string) {
		for i := range len(body) {
			io.WriteString(w, body[i:i+1])
			if strings.Contains(r.URL.Path, "/content/") {
				w.(http.Flusher).Flush()
				time.Sleep(idle / 4)
			}
		}
	}
	timed(t, s, slowly, func(t *testing.T, r *artifacts.Runtime) {
		list, err := r.List(t.Context(), "old")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got, err := download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 100, f) })
		if string(got) != "abcdefgh" || err != nil || time.Since(began) < idle {
			t.Errorf("Download = %q, %v after %v; want all of it, after more than %v", got, err, time.Since(began), idle)
		}
	})
}

// TestPatientCallsOutwaitAService: as long as it has to fail, and no longer than
// three minutes.
func TestPatientCallsOutwaitAService(t *testing.T) {
	for _, tt := range []struct {
		times int
		wants bool
	}{{8, true}, {99, false}} {
		s := artifactstest.New(t)
		s.Fail(artifactstest.Fault{Op: "ListArtifacts", Times: tt.times, Status: 503})
		w := &waits{}
		_, err := runtimeOf(t, s, 7, w, nil).List(forge.Patiently(t.Context()), "")
		var all time.Duration
		for _, d := range w.all {
			all += d
		}
		if tt.wants != (err == nil) || all > 3*time.Minute || !tt.wants && all < 2*time.Minute {
			t.Errorf("%d failures: %v after %v, want success: %t", tt.times, err, all, tt.wants)
		}
	}
}
