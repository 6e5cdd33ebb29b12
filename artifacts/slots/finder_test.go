package slots_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
)

// TestNewestDoesNotRelyOnIDs checks services on which a name keeps its id, so that the highest id
// is not always the newest checkpoint.
func TestNewestDoesNotRelyOnIDs(t *testing.T) {
	for _, run := range []int64{100, 1} {
		for newest := 4; newest <= 9; newest++ {
			s := newScene(t)
			s.AsGitea()
			s.addRun(1, nil)
			r := runtimeOf(t, s.Server, run)
			for g := 1; g <= newest; g++ {
				s.put(run, g, func(m *checkpoint.Manifest) { m.Created = time.Unix(int64(1e9-g), 0) }) // clocks differ
			}
			found := s.expect("ids", slots.Auto, run, newest)
			if run != 100 {
				continue
			}
			rotated := slotsOf(r)
			rotated.Adopt(found.Existing)
			if err := store(t.Context(), rotated, newest); err != nil { // as if a generation had been skipped
				t.Fatal(err)
			}
			if slices.ContainsFunc(s.All(), func(a artifactstest.Artifact) bool {
				return strings.Contains(string(a.Content), fmt.Sprintf(`"generation":%d,`, newest-2))
			}) {
				t.Errorf("newest %d: the oldest of three was not the one replaced", newest)
			}
		}
	}
}

func TestFindByID(t *testing.T) {
	behaving(t, func(s *scene) {
		old := func(m *checkpoint.Manifest) { m.WorkflowID = key + "-0000000d" }
		s.addRun(1, nil)
		s.addRun(2, nil)
		s.put(1, 1, old)
		s.put(1, 2, old)
		s.put(2, 1, nil)
		s.put(2, 2, nil)
		s.put(100, 3, nil)
		s.expect("in another run", key+"-0000000d", 1, 2)
		s.expect("in this run", key+"-00000001", 100, 3)
		s.expect("unknown", key+"-0000000e", 0, 0)
	})
}

// TestEarlierAttemptOnGitea checks that checkpoints of an earlier attempt are found through Gitea's
// API, because its results service doesn't list them.
func TestEarlierAttemptOnGitea(t *testing.T) {
	behaving(t, func(s *scene) {
		s.put(100, 1, nil)
		f := s.finder()
		f.Service = nil
		found, err := f.Find(t.Context(), s.query(slots.Auto))
		if err != nil || s.Behavior.GiteaREST != (found.Manifest != nil) || found.InThisRun != s.Behavior.GiteaREST {
			s.t.Errorf("found %+v, %v", found, err)
		}
	})
}
