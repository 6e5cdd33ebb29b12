package slots_test

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
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// TestTheNewestMustPass: an older one is never taken instead.
func TestTheNewestMustPass(t *testing.T) {
	for _, run := range []int64{2, 100} {
		for name, spoil := range map[string]func(s *scene){
			"not readable":     func(s *scene) { s.Put(artifactstest.Stored{Run: run, Name: slots.Names(key)[0], Content: []byte("x")}) },
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
				for _, mode := range []string{slots.Auto, slots.Require, key + "-00000001"} {
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
		q := s.query(slots.Auto)
		q.Read = func(*os.File, int64, string) (checkpoint.Manifest, string, error) {
			return checkpoint.Manifest{}, "", want
		}
		if _, err := s.find(q); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// kind says what became of a search.
func kind(f *slots.Found, err error) string {
	var none *slots.NoAccess
	var away *slots.Unavailable
	var gone *slots.Gone
	var invalid *checkpoint.Invalid
	switch {
	case errors.As(err, &none) && strings.Contains(err.Error(), "actions: read"):
		return "no access"
	case errors.As(err, &away):
		return "store"
	case errors.As(err, &gone) && strings.Contains(err.Error(), "expired or was deleted"):
		return "gone"
	case errors.Is(err, slots.ErrListTooLong):
		return "buried"
	case errors.As(err, &invalid), errors.Is(err, artifacts.ErrDigest), errors.Is(err, artifacts.ErrTooLarge):
		return "bad state"
	case err != nil:
		return err.Error()
	case f.Manifest == nil && f.Warning != "":
		for says, kind := range map[string]string{"actions: read": "warned", "expired or was deleted": "warned: gone", "3,000": "warned: buried", "under act": "warned: act"} {
			if strings.Contains(f.Warning, says) {
				return kind
			}
		}
		return f.Warning
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
	for _, op := range []string{lists, runs, zip} {
		rows = append(rows, row{fault(op, 99, 401, ""), "warned", "no access"}, row{fault(op, 99, 403, ""), "warned", "no access"},
			row{fault(op, 99, 403, "", "X-RateLimit-Remaining", "0"), "store", "store"})
	}
	for _, op := range []string{runs, zip, content} {
		rows = append(rows, row{fault(op, 99, 404, ""), "warned: gone", "gone"}, row{fault(op, 99, 410, ""), "warned: gone", "gone"})
	}
	for _, op := range []string{lists, runs, zip, content, here} {
		for _, status := range []int{0, 429, 500, 502, 503, 504} {
			rows = append(rows, row{fault(op, 99, status, ""), "store", "store"}, row{fault(op, 1, status, ""), "found", "found"})
		}
		rows = append(rows, row{fault(op, 3, 429, "", "Retry-After", "2"), "found", "found"})
	}
	for _, op := range []string{lists, runs} {
		rows = append(rows,
			row{fault(op, 99, 200, `{"total_count":1,"art`), "store", "store"},
			row{fault(op, 99, 200, "<html>"), "store", "store"},
			row{fault(op, 1, 200, `{"total_count":1,"art`), "found", "found"})
	}
	rows = append(rows,
		row{fault(lists, 99, 404, ""), "warned", "no access"}, row{fault(lists, 99, 410, ""), "store", "store"},
		row{fault(content, 99, 401, ""), "store", "store"}, row{fault(content, 99, 403, ""), "store", "store"},
		row{fault(content, 99, 200, "{}"), "bad state", "bad state"}, row{fault(content, 1, 200, "{}"), "found", "found"},
		row{fault(content, 99, 200, "", "Content-Length", "500"), "store", "store"}, row{fault(content, 2, 200, "", "Content-Length", "500"), "found", "found"},
		row{fault(here, 99, 200, "<html>"), "store", "store"}, row{fault(here, 99, 401, ""), "store", "store"},
		row{fault(here, 99, 409, `{"msg":"x"}`), "store", "store"}, row{fault(here, 99, 404, ""), "found", "found"})
	for _, r := range rows {
		for mode, want := range map[string]string{slots.Auto: r.auto, slots.Require: r.require, key + "-00000001": r.require} {
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

// TestUnderActNobodyNeedsToAnswer: after one more try it is a warning, and no
// permission is blamed; an answer means what it means elsewhere.
func TestUnderActNobodyNeedsToAnswer(t *testing.T) {
	for times, want := range map[int]string{1: "nothing", 99: "warned: act"} {
		s := newScene(t)
		s.Fail(artifactstest.Fault{Op: "/api/", Times: times})
		q := s.query(slots.Auto)
		q.Act = true
		found, err := (&slots.Finder{Archive: s.archive(true)}).Find(t.Context(), q)
		if got := kind(found, err); got != want || len(s.Requests()) != map[int]int{1: 4, 99: 6}[times] {
			t.Errorf("%d faults: %s after %d requests, want %s", times, got, len(s.Requests()), want)
		}
	}
}

// TestOthersHideNothing, however many pages they fill: only where the list goes on
// after 3,000 of them it is said that there may be more.
func TestOthersHideNothing(t *testing.T) {
	topic := func(r *artifactstest.Run) { r.HeadBranch = "topic" }
	fork := func(r *artifactstest.Run) { r.HeadRepository = 666 }
	for _, tt := range []struct {
		branches, forks int
		auto, require   string
	}{
		{110, 0, "found", "found"}, {1, 120, "found", "found"}, {500, 2499, "found", "found"},
		{3000, 0, "warned: buried", "buried"},
	} {
		behaving(t, func(s *scene) {
			if s.Manner.Bare && tt.branches+tt.forks > 1000 {
				return // its pages are half as long, and each run has to be asked for
			}
			s.addRun(1, nil)
			s.put(1, 3, nil)
			name := slots.Names(key)[0]
			for id := range tt.branches + tt.forks {
				if edit := topic; id < tt.branches {
					s.addRun(int64(id+1000), edit)
				} else {
					s.addRun(int64(id+1000), fork)
				}
				s.Put(artifactstest.Stored{Run: int64(id + 1000), Name: name})
			}
			for mode, want := range map[string]string{slots.Auto: tt.auto, slots.Require: tt.require} {
				if got := kind(s.find(s.query(mode))); got != want {
					s.t.Errorf("%d of another branch, %d of forks, mode %s: %s, want %s", tt.branches, tt.forks, mode, got, want)
				}
			}
		})
	}
}

// TestAnExpiredOneIsNamed, and not taken for none, nor is an older one taken.
func TestAnExpiredOneIsNamed(t *testing.T) {
	behaving(t, func(s *scene) {
		s.addRun(1, nil)
		s.addRun(2, nil)
		s.put(1, 1, func(m *checkpoint.Manifest) { m.WorkflowID = key + "-0000000d" })
		s.Put(artifactstest.Stored{Run: 2, Name: slots.Names(key)[2], Expired: true})
		for mode, want := range map[string]string{slots.Auto: "warned: gone", slots.Require: "gone", key + "-0000000d": "found", "x-00000001": "gone"} {
			got := kind(s.find(s.query(mode)))
			if got != want {
				s.t.Errorf("mode %s: %s, want %s", mode, got, want)
			}
		}
	})
}

func TestWithoutAToken(t *testing.T) {
	s := newScene(t)
	f := s.finder()
	f.Archive = nil
	for mode, want := range map[string]string{slots.Auto: "warned", slots.Require: "no access", "x": "no access"} {
		if got := kind(f.Find(t.Context(), s.query(mode))); got != want {
			t.Errorf("mode %s: %s, want %s", mode, got, want)
		}
	}
	s.put(100, 1, nil)
	if got := kind(f.Find(t.Context(), s.query(slots.Require))); got != "found" {
		t.Errorf("in this run: %s, want found", got)
	}
}

// silent is an API that never answers.
type silent struct{ slots.Archive }

func (silent) List(string) artifacts.Pages {
	return func(ctx context.Context) ([]artifacts.Stored, error) {
		<-ctx.Done()
		return nil, &forge.Error{Op: "list artifacts", Attempts: 1, Err: context.Cause(ctx)}
	}
}

// slow is an API whose answers take their time, of a list that never ends.
type slow struct {
	toldAPI
	took time.Duration
}

func (s slow) List(string) artifacts.Pages {
	id := int64(1e9)
	return func(ctx context.Context) ([]artifacts.Stored, error) {
		if err := forge.Sleep(ctx, s.took); err != nil {
			return nil, &forge.Error{Op: "list artifacts", Attempts: 1, Err: context.Cause(ctx)}
		}
		id--
		a := s.stored
		a.ID, a.HeadBranch = id, "topic"
		return []artifacts.Stored{a}, nil
	}
}

// slowService takes six seconds for a list, of nothing.
type slowService struct{ slots.Service }

func (slowService) List(ctx context.Context, _ string) ([]artifacts.Artifact, error) {
	return nil, forge.Sleep(ctx, 6*time.Second)
}

// ListRun implements slots.Archive.
func (toldAPI) ListRun(int64) artifacts.Pages { return nil }

func (toldAPI) ListAll(int) artifacts.Pages { return nil }

// slowDownload is an API whose downloads take a minute.
type slowDownload struct{ toldAPI }

func (slowDownload) Download(ctx context.Context, _ artifacts.Stored, _ int64, _ *os.File) (int64, error) {
	return 0, forge.Sleep(ctx, time.Minute)
}

// TestDownloadsMayTakeLonger than looking.
func TestDownloadsMayTakeLonger(t *testing.T) {
	temp := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const home = artifactstest.Repository
		api := toldAPI{artifacts.Stored{Artifact: artifacts.Artifact{ID: 1}, RunID: 1, HeadRepository: home, Repository: home},
			artifacts.RunInfo{ID: 1, Path: ownFile, HeadBranch: "main", HeadRepository: home}}
		found, err := (&slots.Finder{Service: slowService{}, Archive: slowDownload{api}}).Find(t.Context(), slots.Query{
			Mode: slots.Auto, Key: key, Origin: slots.Origin{RepositoryID: home, Workflow: ownFile, Branch: "main"}, Temp: temp,
			Read: func(*os.File, int64, string) (checkpoint.Manifest, string, error) {
				return checkpoint.Manifest{Key: key, RepositoryID: home, RunID: 1}, "", nil
			},
		})
		if kind(found, err) != "found" {
			t.Errorf("%s, %v; want it found", kind(found, err), err)
		}
	})
}

// TestHowLongItLooks: a request is tried for a minute, all of them together for
// five; a slow answer is one all the same, and a caller that gives up ends it
// sooner.
func TestHowLongItLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const home = artifactstest.Repository
		told := toldAPI{stored: artifacts.Stored{RunID: 1, HeadRepository: home, Repository: home}}
		q := slots.Query{Mode: slots.Auto, Key: key, Origin: slots.Origin{RepositoryID: home, Workflow: ownFile, Branch: "main"}}
		for _, tt := range []struct {
			api  slots.Archive
			took time.Duration
			says string
		}{
			{silent{}, 66 * time.Second, "no usable answer came within 1m0s"},
			{slow{told, 50 * time.Second}, 5 * time.Minute, "within"},
		} {
			began := time.Now()
			found, err := (&slots.Finder{Service: slowService{}, Archive: tt.api}).Find(t.Context(), q)
			if took := time.Since(began); took != tt.took || kind(found, err) != "store" || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("took %v: %s, %v; want class store after %v", took, kind(found, err), err, tt.took)
			}
		}
		f := &slots.Finder{Service: slowService{}, Archive: silent{}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Find(ctx, q); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("given up: %v", err)
		}
	})
}
