package keep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/runner/checkpoint"
	"github.com/raymond-action/raymond-action/runner/keep"
)

// TestTheNewestMustPass: an older one is never taken instead.
func TestTheNewestMustPass(t *testing.T) {
	for _, run := range []int64{2, 100} {
		for name, spoil := range map[string]func(s *scene){
			"not readable":     func(s *scene) { s.Put(artifactstest.Stored{Run: run, Name: keep.Names(key)[0], Content: []byte("x")}) },
			"of another key":   func(s *scene) { s.put(run, 3, func(m *checkpoint.Manifest) { m.Key = "other" }) },
			"of another place": func(s *scene) { s.put(run, 3, func(m *checkpoint.Manifest) { m.RepositoryID = 9 }) },
			"of another run":   func(s *scene) { s.put(run, 3, func(m *checkpoint.Manifest) { m.RunID = 1 }) },
		} {
			behaving(t, func(s *scene) {
				s.addRun(1, nil)
				s.addRun(2, nil)
				s.put(1, 1, nil)
				s.put(run, 2, nil)
				spoil(s)
				for _, mode := range []string{keep.Auto, keep.Require, key + "-00000001"} {
					q := s.query(mode)
					found, err := s.find(q)
					var invalid *checkpoint.Invalid
					if !errors.As(err, &invalid) || !strings.Contains(err.Error(), fmt.Sprintf("workflow run %d", run)) {
						s.t.Errorf("%s, mode %s: %+v, %v; want an *Invalid that names the run", name, mode, found, err)
					}
					if left, _ := os.ReadDir(q.Temp); len(left) > 0 {
						s.t.Errorf("%s, mode %s: left %v", name, mode, left)
					}
				}
			})
		}
	}
}

// TestErrorsOfReadComeThrough: the caller tells them apart.
func TestErrorsOfReadComeThrough(t *testing.T) {
	s := newScene(t)
	s.addRun(1, nil)
	s.put(1, 1, nil)
	for _, want := range []error{checkpoint.ErrSealed, checkpoint.ErrNotSigned} {
		q := s.query(keep.Auto)
		q.Read = func(*os.File, int64, string) (checkpoint.Manifest, string, error) {
			return checkpoint.Manifest{}, "", want
		}
		if _, err := s.find(q); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// kind says what became of a search.
func kind(f *keep.Found, err error) string {
	var none *keep.NoAccess
	var away *keep.Unavailable
	var invalid *checkpoint.Invalid
	switch {
	case errors.As(err, &none) && strings.Contains(err.Error(), "actions: read"):
		return "no access"
	case errors.As(err, &away):
		return "store"
	case errors.As(err, &invalid), errors.Is(err, artifacts.ErrDigest), errors.Is(err, artifacts.ErrTooLarge):
		return "bad state"
	case err != nil:
		return err.Error()
	case f.Manifest == nil && strings.Contains(f.Warning, "actions: read"):
		return "warned"
	case f.Manifest == nil:
		return "nothing"
	}
	return "found"
}

// TestFaultMatrix: what each fault of each request means, in mode auto and where a
// run is required.
func TestFaultMatrix(t *testing.T) {
	fault := func(op string, times, status int, body string, header ...string) artifactstest.Fault {
		f := artifactstest.Fault{Op: op, Times: times, Status: status, Body: body}
		if len(header) == 2 {
			f.Header = map[string]string{header[0]: header[1]}
		}
		return f
	}
	const lists, runs, zip, content, here = "actions/artifacts?", "actions/runs/", "/zip", "/content/", "ListArtifacts"
	type row struct {
		fault         artifactstest.Fault
		auto, require string
	}
	var rows []row
	for _, op := range []string{lists, runs, zip, content} {
		for _, status := range []int{401, 403, 404, 410, 0} {
			rows = append(rows, row{fault(op, 99, status, ""), "warned", "no access"})
		}
		for _, status := range []int{429, 500, 502, 503, 504} {
			rows = append(rows, row{fault(op, 99, status, ""), "store", "store"}, row{fault(op, 1, status, ""), "found", "found"})
		}
		rows = append(rows, row{fault(op, 3, 429, "", "Retry-After", "2"), "found", "found"}, row{fault(op, 1, 0, ""), "found", "found"})
	}
	for _, op := range []string{lists, runs} {
		rows = append(rows,
			row{fault(op, 99, 200, `{"total_count":1,"art`), "store", "store"},
			row{fault(op, 99, 200, "<html>"), "store", "store"},
			row{fault(op, 1, 200, `{"total_count":1,"art`), "found", "found"},
			row{fault(op, 99, 403, "", "X-RateLimit-Remaining", "0"), "store", "store"})
	}
	rows = append(rows,
		row{fault(content, 99, 200, "{}"), "bad state", "bad state"}, row{fault(content, 1, 200, "{}"), "found", "found"},
		row{fault(content, 99, 200, "", "Content-Length", "500"), "store", "store"}, row{fault(content, 2, 200, "", "Content-Length", "500"), "found", "found"},
		row{fault(here, 99, 503, ""), "store", "store"}, row{fault(here, 3, 503, ""), "found", "found"},
		row{fault(here, 99, 200, "<html>"), "store", "store"}, row{fault(here, 99, 401, ""), "warned", "no access"},
		row{fault(here, 99, 409, `{"msg":"x"}`), "store", "store"}, row{fault(here, 99, 404, ""), "found", "found"})
	for _, r := range rows {
		for mode, want := range map[string]string{keep.Auto: r.auto, keep.Require: r.require, key + "-00000001": r.require} {
			s := newScene(t)
			s.addRun(1, nil)
			s.put(1, 1, nil)
			s.Fail(r.fault)
			if got := kind(s.find(s.query(mode))); got != want {
				t.Errorf("%+v, mode %s: %s, want %s", r.fault, mode, got, want)
			}
		}
	}
}

func TestWithoutAToken(t *testing.T) {
	s := newScene(t)
	f := s.finder()
	f.Archive = nil
	for mode, want := range map[string]string{keep.Auto: "warned", keep.Require: "no access", "x": "no access"} {
		if got := kind(f.Find(t.Context(), s.query(mode))); got != want {
			t.Errorf("mode %s: %s, want %s", mode, got, want)
		}
	}
	s.put(100, 1, nil)
	if got := kind(f.Find(t.Context(), s.query(keep.Require))); got != "found" {
		t.Errorf("in this run: %s, want found", got)
	}
}

// silent is an API that never answers.
type silent struct{ keep.Archive }

func (silent) Find(ctx context.Context, _ string) ([]artifacts.Stored, error) {
	<-ctx.Done()
	return nil, &artifacts.ServiceError{Op: "list artifacts", Attempts: 1, Err: ctx.Err()}
}

// slowService takes six seconds for a list, of nothing.
type slowService struct{ keep.Service }

func (slowService) List(ctx context.Context, _ string) ([]artifacts.Artifact, error) {
	return nil, artifacts.Sleep(ctx, 6*time.Second)
}

// slowDownload is an API whose downloads take a minute.
type slowDownload struct{ toldAPI }

func (slowDownload) Download(ctx context.Context, _ artifacts.Stored, _ int64, _ *os.File) (int64, error) {
	return 0, artifacts.Sleep(ctx, time.Minute)
}

// TestDownloadsMayTakeLonger than looking.
func TestDownloadsMayTakeLonger(t *testing.T) {
	temp := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const home = artifactstest.Repository
		api := toldAPI{artifacts.Stored{Artifact: artifacts.Artifact{ID: 1}, RunID: 1, HeadRepository: home, Repository: home},
			artifacts.RunInfo{ID: 1, Path: ownFile, HeadBranch: "main", HeadRepository: home}}
		found, err := (&keep.Finder{Service: slowService{}, Archive: slowDownload{api}}).Find(t.Context(), keep.Query{
			Mode: keep.Auto, Key: key, RepositoryID: home, Workflow: ownFile, Branch: "main", Temp: temp,
			Read: func(*os.File, int64, string) (checkpoint.Manifest, string, error) {
				return checkpoint.Manifest{Key: key, RepositoryID: home, RunID: 1}, "", nil
			},
		})
		if kind(found, err) != "found" {
			t.Errorf("%s, %v; want it found", kind(found, err), err)
		}
	})
}

// TestLookingTakesTenSeconds at most; a caller that gives up ends it sooner.
func TestLookingTakesTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &keep.Finder{Service: slowService{}, Archive: silent{}}
		began := time.Now()
		found, err := f.Find(t.Context(), keep.Query{Mode: keep.Auto, Key: key})
		if took := time.Since(began); took != 10*time.Second || kind(found, err) != "warned" {
			t.Errorf("took %v: %s, want a warning after 10s", took, kind(found, err))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Find(ctx, keep.Query{Mode: keep.Auto, Key: key}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("given up: %v", err)
		}
	})
}
