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

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// TestLostAnswerOfAnUploadIsRecovered checks services that store an artifact, but whose answer is lost or
// is an error. Upload must return the stored artifact, and there must be no duplicate.
func TestLostAnswerOfAnUploadIsRecovered(t *testing.T) {
	for name, as := range map[string]func(*artifactstest.Server){
		"GitHub": func(*artifactstest.Server) {}, "duplicates": func(s *artifactstest.Server) { s.Behavior.FinalizesTwice = true },
		"Gitea": (*artifactstest.Server).AsGitea,
	} {
		for _, status := range []int{0, 404, 409, 500, 503} {
			if name == "Gitea" && status/100 == 4 {
				continue // this server reports no digest, so the artifact can't be recognized
			}
			s := artifactstest.New(t)
			as(s)
			s.Fail(artifactstest.Fault{Op: "FinalizeArtifact", Times: 1, Status: status, After: true})
			a, err := upload(t, runtimeOf(t, s), "one", []byte("abc"))
			all := s.All()
			if err != nil || len(all) != 1 || a.ID != all[0].ID || a.Digest != all[0].Digest {
				t.Errorf("%s, status %d: Upload = %+v, %v; the service has %+v", name, status, a, err, all)
			}
		}
	}
}

// TestRefusedUploadIsAnError checks that Upload fails even if another workflow run has an artifact with the
// same name and content.
func TestRefusedUploadIsAnError(t *testing.T) {
	for _, status := range []int{404, 409} {
		s := artifactstest.New(t)
		s.Fail(artifactstest.Fault{Op: "FinalizeArtifact", Times: 9, Status: status})
		r := runtimeOf(t, s)
		s.Put(artifactstest.Artifact{Run: 8, Name: "one", Content: []byte("abc")})
		a, err := upload(t, r, "one", []byte("abc"))
		assert.Check(t, err != nil, "status %d: Upload = %+v, want an error", status, a)
	}
}

// slow is a transport that answers requests without a network, so that the clock of synctest can advance.
// It sends contents byte by byte, with a pause before each byte.
type slow struct{ service http.Handler }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	s.service.ServeHTTP(rec, r)
	resp := rec.Result()
	if strings.Contains(r.URL.Path, "/content/") {
		resp.Body = slowly{iotest.OneByteReader(rec.Body), r.Context()}
	}
	return resp, nil
}

// slowly is a reader that pauses before each read.
type slowly struct {
	io.Reader
	ctx context.Context
}

func (s slowly) Read(p []byte) (int, error) {
	if err := forge.Sleep(s.ctx, 45*time.Second); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}

func (slowly) Close() error { return nil }

// TestSlowDownloadSucceeds checks that a download is not limited in time as long as it makes progress.
func TestSlowDownloadSucceeds(t *testing.T) {
	s := artifactstest.New(t)
	s.Put(artifactstest.Artifact{Run: 7, Name: "old", Content: []byte("abcdefgh")})
	synctest.Test(t, func(t *testing.T) {
		r := runtimeOf(t, s, func(o *artifacts.Options) { o.Transport, o.Retrier = slow{s.Config.Handler}, forge.Retrier{} })
		began := time.Now()
		list, err := r.List(t.Context(), "old")
		assert.NilError(t, err)
		got, err := download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 100, f) })
		if string(got) != "abcdefgh" || err != nil || time.Since(began) < 3*time.Minute {
			t.Errorf("Download = %q, %v after %v; want all of it, after minutes", got, err, time.Since(began))
		}
	})
}
