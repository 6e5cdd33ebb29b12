package slots_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// TestNewestCheckpointMustBeValid checks that an older checkpoint is never used instead of the
// newest one, if that is unreadable or was copied from elsewhere with a valid seal.
func TestNewestCheckpointMustBeValid(t *testing.T) {
	for want, edit := range map[string]func(*checkpoint.Manifest){
		"is no manifest":                        nil,
		"belongs to the key":                    func(m *checkpoint.Manifest) { m.Key = "other" },
		"belongs to the repository with id 666": func(m *checkpoint.Manifest) { m.RepositoryID = 666 },
		"names workflow run 666":                func(m *checkpoint.Manifest) { m.RunID = 666 },
	} {
		for _, run := range []int64{2, 100} {
			behaving(t, func(s *scene) {
				s.addRun(1, nil)
				s.addRun(2, nil)
				s.put(1, 1, nil)
				s.put(run, 2, nil)
				if edit == nil {
					s.Put(artifactstest.Artifact{Run: run, Name: names[0], Content: []byte("x")})
				} else {
					s.put(run, 3, edit)
				}
				for _, mode := range []string{slots.Auto, slots.Require, key + "-00000001"} {
					q := s.query(mode)
					found, err := s.find(q)
					var invalid *checkpoint.Invalid
					if !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("workflow run %d", run)) {
						s.t.Errorf("%s, run %d, mode %s: %+v, %v; want an *Invalid that names the run", want, run, mode, found, err)
					}
					left, _ := os.ReadDir(q.Temp)
					assert.Check(s.t, is.Len(left, 0), "%s, mode %s: left %v", want, mode, left)
				}
			})
		}
	}
}

// kind returns the outcome of a search as one word.
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

// TestFaultMatrix checks the outcome of each fault of each request, in the modes auto and require.
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
		for _, status := range []int{0, 429, 503} {
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
		for mode, want := range map[string]string{slots.Auto: r.auto, slots.Require: r.require} {
			s := newScene(t)
			s.addRun(1, nil)
			s.put(1, 1, nil)
			s.Fail(r.fault)
			assert.Check(t, is.Equal(kind(s.find(s.query(mode))), want), "%+v, mode %s", r.fault, mode)
		}
	}
}

// TestActWithoutAnAPI checks that an API that doesn't answer under act causes one retry and a
// warning that blames no permission.
func TestActWithoutAnAPI(t *testing.T) {
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

// TestExpiredCheckpointIsReported checks that an expired checkpoint is reported, and that no older
// one is used instead.
func TestExpiredCheckpointIsReported(t *testing.T) {
	behaving(t, func(s *scene) {
		s.addRun(1, nil)
		s.addRun(2, nil)
		s.put(1, 1, func(m *checkpoint.Manifest) { m.WorkflowID = key + "-0000000d" })
		s.Put(artifactstest.Artifact{Run: 2, Name: names[2], Expired: true})
		for mode, want := range map[string]string{slots.Auto: "warned: gone", slots.Require: "gone", key + "-0000000d": "found", "x-00000001": "gone"} {
			got := kind(s.find(s.query(mode)))
			assert.Check(s.t, is.Equal(got, want), "mode %s", mode)
		}
	})
}

func TestFindWithoutAToken(t *testing.T) {
	s := newScene(t)
	f := s.finder()
	f.Archive = nil
	for mode, want := range map[string]string{slots.Auto: "warned", slots.Require: "no access", "x": "no access"} {
		assert.Check(t, is.Equal(kind(f.Find(t.Context(), s.query(mode))), want), "mode %s", mode)
	}
	s.put(100, 1, nil)
	assert.Check(t, is.Equal(kind(f.Find(t.Context(), s.query(slots.Require))), "found"), "in this run")
	// If the API fails, another workflow run may have continued the run.
	for status, want := range map[int]string{403: "found", 503: "store"} {
		s.Clear()
		s.Fail(artifactstest.Fault{Op: "/api/", Times: 99, Status: status})
		assert.Check(t, is.Equal(kind(s.find(s.query(slots.Auto))), want), "in this run, status %d", status)
	}
}

// listing is an API with a given list of artifacts.
type listing struct {
	slots.Archive
	next artifacts.NextPage
}

func (l listing) List(string) artifacts.NextPage { return l.next }

// TestListThatIsTooLong checks that a list that is too long to be read to its end is reported.
func TestListThatIsTooLong(t *testing.T) {
	many := listing{next: func(context.Context) ([]artifacts.RunArtifact, error) { return nil, artifacts.ErrTooManyPages }}
	for mode, want := range map[string]string{slots.Auto: "warned: buried", slots.Require: "buried"} {
		assert.Check(t, is.Equal(kind((&slots.Finder{Archive: many}).Find(t.Context(), newScene(t).query(mode))), want), "mode %s", mode)
	}
}

// slow returns a Finder with an API that answers slowly and has an endless list.
func slow(took time.Duration) *slots.Finder {
	const home = artifactstest.Repository
	var answers atomic.Int64
	return &slots.Finder{Archive: listing{next: func(ctx context.Context) ([]artifacts.RunArtifact, error) {
		if err := forge.Sleep(ctx, took); err != nil {
			return nil, &forge.Error{Op: "list artifacts", Attempts: 1, Err: context.Cause(ctx)}
		}
		return []artifacts.RunArtifact{{Artifact: artifacts.Artifact{ID: 1e9 - answers.Add(1)}, RunID: 1, HeadRepository: home, Repository: home, HeadBranch: "topic"}}, nil
	}}}
}

// TestFindTimeLimits checks the time limits: a minute for a request and five minutes for all of
// them, while slow answers come. A caller can end the search sooner.
func TestFindTimeLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin := slots.Origin{RepositoryID: artifactstest.Repository, Workflow: ownFile, Branch: "main"}
		q := slots.Query{Mode: slots.Auto, Key: key, Origin: origin}
		for takes, tt := range map[time.Duration]struct {
			took time.Duration
			says string
		}{
			time.Hour:        {time.Minute, "no usable answer came within 1m0s"},
			50 * time.Second: {5 * time.Minute, "within"},
		} {
			began := time.Now()
			found, err := slow(takes).Find(t.Context(), q)
			if took := time.Since(began); took != tt.took || kind(found, err) != "store" || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("took %v: %s, %v; want class store after %v", took, kind(found, err), err, tt.took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := slow(time.Hour).Find(ctx, q)
		assert.Check(t, is.ErrorIs(err, context.DeadlineExceeded), "given up: %v", err)
	})
}
