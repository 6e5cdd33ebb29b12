package slots_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
)

// took is the edit of a checkpoint whose workflow run took another up.
func took(base int64, run int64, generation int) func(*checkpoint.Manifest) {
	return func(m *checkpoint.Manifest) {
		m.Base = &checkpoint.Base{ArtifactID: base, RunID: run, Digest: fmt.Sprintf("sha256:%d-%d", run, generation)}
		m.Previous = m.Base.Digest
	}
}

// TestNoConflict: runs in one line, runs of others and runs that nobody believes.
func TestNoConflict(t *testing.T) {
	for name, second := range map[string]func(s *scene, base int64){
		"one line":       func(s *scene, base int64) { s.put(2, 2, took(base, 1, 1)); s.put(3, 3, took(base+1, 2, 2)) },
		"another run":    func(s *scene, base int64) { s.put(2, 2, nil); s.put(3, 2, took(base, 1, 1)) },
		"another id":     func(s *scene, base int64) { s.put(2, 2, other(took(base, 1, 1))); s.put(3, 3, took(base, 1, 1)) },
		"a fork's":       func(s *scene, base int64) { s.put(66, 2, took(base, 1, 1)); s.put(3, 3, took(base, 1, 1)) },
		"the same run's": func(s *scene, base int64) { s.put(3, 2, took(base, 1, 1)); s.put(3, 3, took(base, 1, 1)) },
		"an unreadable": func(s *scene, base int64) {
			s.Put(artifactstest.Stored{Run: 2, Name: names[2], Content: []byte("x")})
			s.put(3, 3, took(base, 1, 1))
		},
	} {
		behaving(t, func(s *scene) {
			for id := int64(1); id <= 3; id++ {
				s.addRun(id, nil)
			}
			s.addRun(66, func(r *artifactstest.Run) { r.HeadRepository = 666 })
			second(s, s.put(1, 1, nil))
			found, err := s.find(s.query(slots.Auto))
			if err != nil || found.RunID != 3 || found.RunStatus != "completed" || found.RunURL != s.URL+"/runs/3" || found.Warning != "" {
				s.t.Errorf("%s: %+v, %v; want run 3", name, found, err)
			}
		})
	}
}

func other(edit func(*checkpoint.Manifest)) func(*checkpoint.Manifest) {
	return func(m *checkpoint.Manifest) { edit(m); m.WorkflowID = "other" }
}

// TestARerunNeedsNoPermission: its own checkpoint is there. But where the API fails, nobody
// knows whether another workflow run has continued the run.
func TestARerunNeedsNoPermission(t *testing.T) {
	for status, want := range map[int]string{403: "found", 503: "store"} {
		s := newScene(t)
		s.put(100, 2, took(1, 1, 1))
		s.Fail(artifactstest.Fault{Op: "/api/", Times: 99, Status: status})
		assert.Check(t, is.Equal(kind(s.find(s.query(slots.Auto))), want), "status %d", status)
	}
}

// TestTheNewestGenerationCounts wherever it lies: a workflow run that has stored some of a
// run finds what others have made of it since.
func TestTheNewestGenerationCounts(t *testing.T) {
	for name, put := range map[string]func(s *scene) (run int64, generation int){
		"nobody else's": func(*scene) (int64, int) { return 100, 2 },
		"the next one's": func(s *scene) (int64, int) {
			s.put(101, 3, took(2, 100, 2))
			return 101, 3
		},
		"that of the last of many": func(s *scene) (int64, int) {
			for run := int64(101); run <= 108; run++ {
				s.put(run, int(run-98), took(run-99, run-1, int(run-99)))
			}
			return 108, 10
		},
		"that of one before many with runs of their own": func(s *scene) (int64, int) {
			s.put(101, 3, took(2, 100, 2))
			for run := int64(102); run <= 108; run++ {
				s.put(run, 1, other(func(*checkpoint.Manifest) {}))
			}
			return 101, 3
		},
		"its own, after another one's": func(s *scene) (int64, int) {
			s.put(100, 4, took(s.put(101, 3, took(2, 100, 2)), 101, 3))
			return 100, 4
		},
		"no fork's": func(s *scene) (int64, int) {
			s.addRun(101, func(r *artifactstest.Run) { r.HeadRepository = 666 })
			s.put(101, 3, took(2, 100, 2))
			return 100, 2
		},
		"none that has expired": func(s *scene) (int64, int) {
			s.Put(artifactstest.Stored{Run: 101, Name: names[0], Expired: true})
			return 100, 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			behaving(t, func(s *scene) {
				for run := int64(101); run <= 108; run++ {
					s.addRun(run, nil)
				}
				s.put(100, 1, nil)
				s.put(100, 2, nil)
				run, generation := put(s)
				found := s.expect(name, slots.Auto, run, generation)
				assert.Check(s.t, is.Equal(found.OlderHere, (run != 100)), "found %+v", found)
				assert.Check(s.t, len(found.Existing) >= 2, "found %+v, want OlderHere %t, and what is here", found, run != 100)
			})
		})
	}
}

// TestWhoWentOnBesideAnotherIsAConflict: two workflow runs have resumed one checkpoint, or one
// of them what the other left on its way; this one may be among them.
func TestWhoWentOnBesideAnotherIsAConflict(t *testing.T) {
	for name, tt := range map[string]struct {
		mode string
		put  func(s *scene, base int64)
	}{
		"two others": {"other", func(s *scene, _ int64) {
			base := s.put(101, 1, other(func(*checkpoint.Manifest) {}))
			s.put(102, 2, other(took(base, 101, 1)))
			s.put(103, 2, other(took(base, 101, 1)))
		}},
		"two others that resumed this one's, of which one has gone on": {slots.Auto, func(s *scene, base int64) {
			s.put(101, 2, took(base, 100, 1))
			s.put(101, 3, func(m *checkpoint.Manifest) { took(base, 100, 1)(m); m.Previous = "sha256:101-2" })
			s.put(102, 2, took(base, 100, 1))
		}},
		"another one, which is newer": {slots.Auto, func(s *scene, base int64) {
			s.put(100, 2, nil)
			s.put(101, 2, took(base, 100, 1))
			s.put(101, 3, took(base, 100, 1))
		}},
		"another one, which is older": {slots.Auto, func(s *scene, base int64) {
			s.put(101, 2, took(base, 100, 1))
			s.put(100, 2, took(base, 100, 1))
			s.put(100, 3, took(base, 100, 1))
		}},
		"another one, as new": {slots.Auto, func(s *scene, base int64) { s.put(100, 2, took(base, 100, 1)); s.put(101, 2, took(base, 100, 1)) }},
	} {
		behaving(t, func(s *scene) {
			for run := int64(101); run <= 103; run++ {
				s.addRun(run, nil)
			}
			tt.put(s, s.put(100, 1, nil))
			_, err := s.find(s.query(tt.mode))
			assert.Check(s.t, isConflict(err), "%s: %v, want a *Conflict that names both runs", name, err)
			assert.Check(s.t, is.Equal(strings.Count(err.Error(), "workflow run 10"), 2), "%s: %v", name, err)
		})
	}
}
