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

func other(edit func(*checkpoint.Manifest)) func(*checkpoint.Manifest) {
	return func(m *checkpoint.Manifest) { edit(m); m.WorkflowID = "other" }
}

// TestTheNewestGenerationCounts wherever it lies: a workflow run that has stored some of a
// run finds what others have made of it since. Where two workflow runs have resumed one
// checkpoint, or one of them what the other left on its way, there is a conflict; this one
// may be among them.
func TestTheNewestGenerationCounts(t *testing.T) {
	unlike := other(func(*checkpoint.Manifest) {})
	for name, tt := range map[string]struct {
		put        func(s *scene, base int64)
		run        int64 // that has the newest; 0 for a conflict
		generation int
	}{
		"nobody else's":         {func(*scene, int64) {}, 100, 1},
		"of one line":           {func(s *scene, base int64) { s.put(101, 2, took(base, 100, 1)); s.put(102, 3, took(base+1, 101, 2)) }, 102, 3},
		"beside one of no base": {func(s *scene, base int64) { s.put(101, 2, nil); s.put(102, 2, took(base, 100, 1)) }, 102, 2},
		"beside another run's": {func(s *scene, base int64) {
			s.put(101, 2, other(took(base, 100, 1)))
			s.put(102, 3, took(base, 100, 1))
		}, 102, 3},
		"beside a fork's":        {func(s *scene, base int64) { s.put(66, 2, took(base, 100, 1)); s.put(102, 3, took(base, 100, 1)) }, 102, 3},
		"after a fork's":         {func(s *scene, base int64) { s.put(100, 2, nil); s.put(66, 3, took(base+1, 100, 2)) }, 100, 2},
		"of the same run":        {func(s *scene, base int64) { s.put(102, 2, took(base, 100, 1)); s.put(102, 3, took(base, 100, 1)) }, 102, 3},
		"none that has expired":  {func(s *scene, _ int64) { s.Put(artifactstest.Stored{Run: 101, Name: names[0], Expired: true}) }, 100, 1},
		"its own, after another": {func(s *scene, base int64) { s.put(100, 3, took(s.put(101, 2, took(base, 100, 1)), 101, 2)) }, 100, 3},
		"beside one that can't be read": {func(s *scene, base int64) {
			s.Put(artifactstest.Stored{Run: 101, Name: names[2], Content: []byte("x")})
			s.put(102, 3, took(base, 100, 1))
		}, 102, 3},
		"of the last of many": {func(s *scene, base int64) {
			for run := int64(101); run <= 108; run++ {
				s.put(run, int(run-99), took(base+run-101, run-1, int(run-100)))
			}
		}, 108, 9},
		"before many of other runs": {func(s *scene, base int64) {
			s.put(101, 2, took(base, 100, 1))
			for run := int64(102); run <= 108; run++ {
				s.put(run, 1, unlike)
			}
		}, 101, 2},
		"two that resumed this one's, of which one has gone on": {func(s *scene, base int64) {
			s.put(101, 2, took(base, 100, 1))
			s.put(101, 3, func(m *checkpoint.Manifest) { took(base, 100, 1)(m); m.Previous = "sha256:101-2" })
			s.put(102, 2, took(base, 100, 1))
		}, 0, 0},
		"another one, which is newer": {func(s *scene, base int64) {
			s.put(100, 2, nil)
			s.put(101, 2, took(base, 100, 1))
			s.put(101, 3, took(base, 100, 1))
		}, 0, 0},
		"another one, which is older": {func(s *scene, base int64) {
			s.put(101, 2, took(base, 100, 1))
			s.put(100, 2, took(base, 100, 1))
			s.put(100, 3, took(base, 100, 1))
		}, 0, 0},
		"another one, as new": {func(s *scene, base int64) { s.put(100, 2, took(base, 100, 1)); s.put(101, 2, took(base, 100, 1)) }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			behaving(t, func(s *scene) {
				for run := int64(101); run <= 108; run++ {
					s.addRun(run, nil)
				}
				s.addRun(66, func(r *artifactstest.Run) { r.HeadRepository = 666 })
				tt.put(s, s.put(100, 1, nil))
				if tt.run == 0 {
					s.expectConflict(slots.Auto)
					return
				}
				found := s.expect(name, slots.Auto, tt.run, tt.generation)
				isElsewhere := tt.run != 100
				assert.Check(s.t, is.Equal(found.OlderHere, isElsewhere))
				assert.Check(s.t, len(found.Existing) >= 1 && found.Warning == "", "found %+v", found)
				assert.Check(s.t, !isElsewhere || found.RunStatus == "completed" && found.RunURL == fmt.Sprint(s.URL, "/runs/", tt.run), "found %+v", found)
			})
		})
	}
	behaving(t, func(s *scene) { // two others, and nothing here
		for run := int64(101); run <= 103; run++ {
			s.addRun(run, nil)
		}
		base := s.put(101, 1, unlike)
		s.put(102, 2, other(took(base, 101, 1)))
		s.put(103, 2, other(took(base, 101, 1)))
		s.expectConflict("other")
	})
}

// expectConflict wants one that names both workflow runs.
func (s *scene) expectConflict(mode string) {
	s.t.Helper()
	_, err := s.find(s.query(mode))
	assert.Assert(s.t, isConflict(err), "got %v", err)
	assert.Check(s.t, is.Equal(strings.Count(err.Error(), "workflow run 10"), 2), "%v", err)
}
