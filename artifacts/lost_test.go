package artifacts_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
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

// idle is how long a service may be silent.
const idle = 3 * time.Minute

// direct answers requests without a network, so that time passes only while all wait: those
// for contents byte by byte with a pause before each, and those for hangs not at all, or not
// to their end.
type direct struct {
	service http.Handler
	hangs   string
	pause   time.Duration
}

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	isContent := strings.Contains(r.URL.Path, "/content/")
	isHung := d.hangs != "" && strings.Contains(r.URL.Path+"?"+r.URL.RawQuery, d.hangs)
	if isHung && !isContent {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	d.service.ServeHTTP(rec, r)
	resp := rec.Result()
	if isContent {
		resp.Body = &slowly{Reader: iotest.OneByteReader(rec.Body), ctx: r.Context(), pause: d.pause, hangs: isHung}
	}
	return resp, nil
}

// slowly takes a pause before each read, or hangs at the third.
type slowly struct {
	io.Reader
	ctx   context.Context
	pause time.Duration
	hangs bool
	reads int
}

func (s *slowly) Read(p []byte) (int, error) {
	pause := s.pause
	if s.reads++; s.hangs && s.reads == 3 {
		pause = 1000 * time.Hour
	}
	if err := forge.Sleep(s.ctx, pause); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}

func (*slowly) Close() error { return nil }

// directly is a client of a service that is asked without a network.
func directly(t *testing.T, s *artifactstest.Server, d direct) *artifacts.Runtime {
	t.Helper()
	d.service = s.Config.Handler
	r, err := artifacts.NewRuntime(artifacts.Options{URL: s.URL, Token: artifactstest.Token(7), Calls: forge.Calls{Sleep: (&waits{}).sleep}, Transport: d})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAServiceThatHangsIsGivenUp: over all tries, and wherever it hangs.
func TestAServiceThatHangsIsGivenUp(t *testing.T) {
	for _, hangs := range []string{"ListArtifacts", "GetSigned", "/content/", "CreateArtifact", "comp=block&", "FinalizeArtifact"} {
		s := artifactstest.New(t)
		s.Put(artifactstest.Stored{Run: 7, Name: "old", Content: []byte("abcdefgh")})
		synctest.Test(t, func(t *testing.T) {
			r, began := directly(t, s, direct{hangs: hangs}), time.Now()
			list, err := r.List(t.Context(), "old")
			if err == nil {
				_, err = download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 100, f) })
			}
			if err == nil {
				_, err = upload(t, r, "new", []byte("abc"))
			}
			if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "stopped answering") || took > 3*idle {
				t.Errorf("%s hangs: got %v after %v, want an error soon after %v", hangs, err, took, idle)
			}
		})
	}
}

// TestASlowContentArrives: what moves is not given up, however long it takes.
func TestASlowContentArrives(t *testing.T) {
	s := artifactstest.New(t)
	s.Put(artifactstest.Stored{Run: 7, Name: "old", Content: []byte("abcdefgh")})
	synctest.Test(t, func(t *testing.T) {
		r, began := directly(t, s, direct{pause: idle / 4}), time.Now()
		list, err := r.List(t.Context(), "old")
		if err != nil {
			t.Fatal(err)
		}
		got, err := download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 100, f) })
		if string(got) != "abcdefgh" || err != nil || time.Since(began) < idle {
			t.Errorf("Download = %q, %v after %v; want all of it, after more than %v", got, err, time.Since(began), idle)
		}
	})
}
