package artifacts_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
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
	const idle = 300 * time.Millisecond
	for _, hangs := range []string{"ListArtifacts", "GetSigned", "/content/", "CreateArtifact", "comp=block&", "FinalizeArtifact"} {
		s := artifactstest.New(t)
		s.Put(artifactstest.Stored{Run: 7, Name: "old", Content: make([]byte, 1<<20)})
		front := hanging(t, s, hangs)
		r, err := artifacts.NewRuntime(artifacts.Options{URL: front, Token: artifactstest.Token(7), Calls: forge.Calls{Idle: idle, Sleep: (&waits{}).sleep}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		list, err := r.List(t.Context(), "old")
		if err == nil && hangs != "CreateArtifact" && hangs != "comp=block&" && hangs != "FinalizeArtifact" {
			_, err = download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 2<<20, f) })
		} else if err == nil {
			_, err = upload(t, r, "new", []byte("abc"))
		}
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "stopped answering") || took > 100*idle {
			t.Errorf("%s hangs: got %v after %v, want an error soon after %v", hangs, err, took, idle)
		}
	}
}

// hanging is the address of a server that answers all but some requests, of which
// a content sends its first half.
func hanging(t *testing.T, s *artifactstest.Server, op string) string {
	t.Helper()
	var front *httptest.Server
	front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(rec, r)
		body := strings.ReplaceAll(rec.Body.String(), s.URL, front.URL)
		if strings.Contains(r.URL.Path+"?"+r.URL.RawQuery, op) {
			if op == "/content/" {
				w.Write([]byte(body[:len(body)/2]))
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
			return
		}
		w.WriteHeader(rec.Code)
		w.Write([]byte(body))
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// TestASlowContentArrives: what moves is not given up, however long it takes.
func TestASlowContentArrives(t *testing.T) {
	const idle = 600 * time.Millisecond
	s := artifactstest.New(t)
	s.Put(artifactstest.Stored{Run: 7, Name: "old", Content: []byte("abcdefgh")})
	var front *httptest.Server
	front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(rec, r)
		body := strings.ReplaceAll(rec.Body.String(), s.URL, front.URL)
		if !strings.Contains(r.URL.Path, "/content/") {
			w.Write([]byte(body))
			return
		}
		for i := range len(body) {
			w.Write([]byte(body[i : i+1]))
			w.(http.Flusher).Flush()
			time.Sleep(idle / 5) // the service's own time: what is waited for is a byte
		}
	}))
	t.Cleanup(front.Close)
	r, err := artifacts.NewRuntime(artifacts.Options{URL: front.URL, Token: artifactstest.Token(7), Calls: forge.Calls{Idle: idle, Sleep: (&waits{}).sleep}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.List(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	got, err := download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 100, f) })
	if string(got) != "abcdefgh" || err != nil || time.Since(began) < idle {
		t.Errorf("Download = %q, %v after %v; want all of it, after more than %v", got, err, time.Since(began), idle)
	}
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
