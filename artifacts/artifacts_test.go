package artifacts_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/internal/forge"
)

func noWait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// runtimeOf returns a client for workflow run 7. Each edit changes the client's options.
func runtimeOf(t *testing.T, s *artifactstest.Server, edit ...func(*artifacts.Options)) *artifacts.Runtime {
	t.Helper()
	o := artifacts.Options{URL: s.URL + "/some/path/", Token: artifactstest.Token(7), Retrier: forge.Retrier{Sleep: noWait}}
	for _, e := range edit {
		e(&o)
	}
	r, err := artifacts.NewRuntime(o)
	assert.NilError(t, err)
	return r
}

func upload(t *testing.T, r *artifacts.Runtime, name string, content []byte) (artifacts.Artifact, error) {
	t.Helper()
	return r.Upload(t.Context(), artifacts.NewArtifact{Name: name, Content: bytes.NewReader(content), Size: int64(len(content))})
}

// TestWrongDigestIsRefused checks that the service stores an upload only if the content has the digest that
// the caller gave.
func TestWrongDigestIsRefused(t *testing.T) {
	for name, content := range map[string]string{"same": "abc", "other": "abd"} {
		s := artifactstest.New(t)
		a, err := runtimeOf(t, s).Upload(t.Context(), artifacts.NewArtifact{
			Name: "one", Content: strings.NewReader(content), Size: 3, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("abc"))),
		})
		if isSame := name == "same"; isSame != (err == nil) || isSame != (len(s.All()) == 1) {
			t.Errorf("%s: got %+v, %v, and %d stored; want it stored only if the digest is right", name, a, err, len(s.All()))
		}
	}
}

// download calls get with a new file. It checks the size that get returns, and returns the file's content.
func download(t *testing.T, get func(*os.File) (int64, error)) ([]byte, error) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "content"))
	assert.NilError(t, err)
	defer f.Close()
	n, err := get(f)
	if err != nil {
		return nil, err
	}
	data, readErr := os.ReadFile(f.Name())
	assert.NilError(t, readErr)
	assert.Equal(t, int64(len(data)), n, "%d bytes in the file, reported %d, %v", len(data), n, readErr)
	return data, nil
}

// TestStoredContentIsDownloaded uploads and downloads contents whose sizes are close to an upload block's.
// It tests services that behave like GitHub and like act.
func TestStoredContentIsDownloaded(t *testing.T) {
	for name, change := range map[string]func(*artifactstest.Server){
		"github": func(*artifactstest.Server) {},
		"act":    func(s *artifactstest.Server) { s.CamelCase, s.NoDigest, s.Replaces = true, true, true },
	} {
		for _, size := range []int{0, 1, 8<<20 - 1, 8 << 20, 8<<20 + 1} {
			s := artifactstest.New(t)
			change(s)
			var masked []string
			r := runtimeOf(t, s, func(o *artifacts.Options) { o.Mask = func(secret string) { masked = append(masked, secret) } })
			want := bytes.Repeat([]byte("raymond!"), size/8+1)[:size]
			_, err := upload(t, r, "one", want)
			assert.NilError(t, err, "%s, %d bytes: Upload", name, size)
			list, err := r.List(t.Context(), "one")
			assert.NilError(t, err)
			assert.Assert(t, is.Len(list, 1), "%s: List = %v, %v", name, list, err)
			got, err := download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 1<<30, f) })
			assert.Assert(t, err == nil && bytes.Equal(got, want), "%s, %d bytes: came back as %d bytes, %v", name, size, len(got), err)
			for _, secret := range []string{"a+b=", "c+d="} {
				assert.Check(t, is.Contains(masked, secret), "%s: masked %q", name, masked)
				assert.Check(t, is.Contains(masked, url.QueryEscape(secret)), "%s: masked %q", name, masked)
			}
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	s := artifactstest.New(t)
	r := runtimeOf(t, s)
	_, err := upload(t, r, "one", []byte("a"))
	assert.NilError(t, err)
	_, err = upload(t, r, "one", []byte("b"))
	assert.Check(t, is.ErrorIs(err, artifacts.ErrExists), "second Upload: %v", err)
	list, _ := r.List(t.Context(), "")
	assert.NilError(t, r.Delete(t.Context(), list[0]))
	_, err = upload(t, r, "one", []byte("b"))
	assert.Check(t, err, "Upload after Delete: %v", err)
	assert.NilError(t, r.Delete(t.Context(), list[0]))
	err = r.Delete(t.Context(), list[0])
	assert.Check(t, forge.IsMissing(err), "Delete of nothing: %v, want it missing", err)
}

func TestPermanentFaultsAreErrors(t *testing.T) {
	for _, tt := range []struct {
		fault    artifactstest.Fault
		attempts int
		want     error
	}{
		{artifactstest.Fault{Op: "CreateArtifact", Times: 9, Status: 404, Body: `{"code":"bad_route","msg":"no handler for this"}`}, 1, nil},
		{artifactstest.Fault{Op: "CreateArtifact", Times: 9, Status: 400, Body: `{"msg":"bad"}`}, 1, nil},
		{artifactstest.Fault{Op: "CreateArtifact", Times: 9, Status: 403, Body: `{"msg":"insufficient usage to create"}`}, 1, artifacts.ErrQuota},
		{artifactstest.Fault{Op: "CreateArtifact", Times: 9, Status: 200, Body: `<html>`}, 5, nil},
		{artifactstest.Fault{Op: "comp=block", Times: 9, Status: 403}, 1, nil},
	} {
		s := artifactstest.New(t)
		s.Fail(tt.fault)
		_, err := upload(t, runtimeOf(t, s), "one", []byte("abc"))
		var failure *forge.Error
		if !errors.As(err, &failure) || failure.Attempts != tt.attempts || failure.Status != tt.fault.Status {
			t.Errorf("%+v: %v, want status %d after %d attempts", tt.fault, err, tt.fault.Status, tt.attempts)
			continue
		}
		assert.Check(t, tt.want == nil || errors.Is(err, tt.want), "%+v: %v, want %v", tt.fault, err, tt.want)
		if tt.fault.Status == 404 { // an old server without an artifact service
			assert.Check(t, strings.Contains(err.Error(), "no handler for this; ") && strings.Contains(err.Error(), "store: local"), err)
		}
		assert.Check(t, !strings.Contains(err.Error(), "sig="), "%+v: the error shows a URL: %v", tt.fault, err)
		assert.Check(t, !strings.Contains(err.Error(), "http://"), "%+v: the error shows a URL: %v", tt.fault, err)
	}
}

func TestDownloadsAreVerified(t *testing.T) {
	s := artifactstest.New(t)
	s.Put(artifactstest.Artifact{Run: 7, Name: "one", Content: []byte("abcdef")})
	r := runtimeOf(t, s)
	list, err := r.List(t.Context(), "one")
	assert.NilError(t, err)
	if _, err := download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 5, f) }); !errors.Is(err, artifacts.ErrTooLarge) {
		t.Errorf("limit 5: %v, want ErrTooLarge", err)
	}
	bad := list[0]
	bad.Digest = "sha256:00"
	if _, err := download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), bad, 10, f) }); !errors.Is(err, artifacts.ErrDigest) {
		t.Errorf("other digest: %v, want ErrDigest", err)
	}
	s.Fail(artifactstest.Fault{Op: "content/", Times: 1, Status: 200, Body: "abc"})
	got, err := download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 10, f) })
	assert.Check(t, is.Equal(string(got), "abcdef"), "after a cut download: %q, %v", got, err)
	assert.Check(t, err)
}

func TestInvalidTokensAreRefused(t *testing.T) {
	for _, token := range []string{"", "a.b", "a.!.c", "a.e30.c", "a.eyJzY3AiOiJ4In0.c"} {
		_, err := artifacts.NewRuntime(artifacts.Options{URL: "http://127.0.0.1:1", Token: token})
		assert.Check(t, err != nil, "NewRuntime with token %q: no error", token)
	}
}

// archiveOf returns an Archive that reads from a fake server.
func archiveOf(t *testing.T, s *artifactstest.Server) *artifacts.Archive {
	t.Helper()
	c, err := forge.New(forge.Options{URL: s.URL + "/api", Token: artifactstest.APIToken, Repository: "o/r", Retrier: forge.Retrier{Sleep: noWait}})
	assert.NilError(t, err)
	return artifacts.NewArchive(c, nil)
}

func TestArchiveReadsOtherRuns(t *testing.T) {
	s := artifactstest.New(t)
	s.Runs[1] = artifactstest.Run{ID: 1, Event: "schedule", Status: "completed", Path: "x.yml@refs/heads/main",
		HeadBranch: "main", HeadRepository: artifactstest.Repository}
	s.Runs[2] = artifactstest.Run{ID: 2, Event: "pull_request", HeadRepository: 666}
	old := s.Put(artifactstest.Artifact{Run: 1, Name: "one", Content: []byte("old")})
	s.Put(artifactstest.Artifact{Run: 1, Name: "other", Content: []byte("x")})
	evil := s.Put(artifactstest.Artifact{Run: 2, Name: "one", Content: []byte("evil")})
	a := archiveOf(t, s)
	list, err := listed(t, a, "one")
	assert.Assert(t, err == nil && len(list) == 2 && list[0].ID == evil && list[1].ID == old, "Find = %+v, %v; want %d, then %d", list, err, evil, old)
	assert.Check(t, list[0].HeadRepository == 666 && list[1].HeadRepository == artifactstest.Repository && list[1].RunID == 1, "origins: %+v", list)
	run, err := a.Run(t.Context(), 1)
	if err != nil || run.Path != "x.yml" || run.HeadBranch != "main" || run.Event != "schedule" || run.Status != "completed" {
		t.Errorf("Run(1) = %+v, %v", run, err)
	}
	got, err := download(t, func(f *os.File) (int64, error) { return a.Download(t.Context(), list[1], 10, f) })
	assert.Check(t, is.Equal(string(got), "old"), "Download = %q, %v", got, err)
	assert.Check(t, err)
	_, err = a.Run(t.Context(), 9)
	assert.Check(t, forge.IsMissing(err), "Run(9): %v, want it missing", err)
}
