package slots_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
)

// putAll stores checkpoints. Each word is the workflow run and generation of a checkpoint, and
// after "<" the workflow run and generation of its base. A prefix "!" means another run, a suffix
// "?" an unreadable checkpoint, and a suffix "-" an expired one.
func (s *scene) putAll(told string) {
	s.t.Helper()
	ids := map[string]int64{}
	for word := range strings.FieldsSeq(told) {
		name, base, isResumed := strings.Cut(strings.Trim(word, "!?-"), "<")
		var run, baseRun int64
		var generation, baseGeneration int
		_, err := fmt.Sscanf(name, "%d.%d", &run, &generation)
		assert.NilError(s.t, err, word)
		if strings.ContainsAny(word, "?-") {
			s.Put(artifactstest.Artifact{Run: run, Name: names[generation%3], Content: []byte("x"), Expired: strings.HasSuffix(word, "-")})
			continue
		}
		ids[name] = s.put(run, generation, func(m *checkpoint.Manifest) {
			if strings.HasPrefix(word, "!") {
				m.WorkflowID = "other"
			}
			if isResumed {
				_, err := fmt.Sscanf(base, "%d.%d", &baseRun, &baseGeneration)
				assert.NilError(s.t, err, word)
				m.Base = &checkpoint.Base{ArtifactID: ids[base], RunID: baseRun, Digest: fmt.Sprintf("sha256:%d-%d", baseRun, baseGeneration)}
				m.Previous = m.Base.Digest
			}
		})
	}
}

// newest has sequences of stored checkpoints, and the workflow run with the newest one.
var newest = map[string]struct {
	stored     string
	run        int64 // that has the newest; 0 for a conflict
	generation int
}{
	"nobody else's":                 {"100.1 100.2", 100, 2},
	"of one line":                   {"100.1 101.2<100.1 102.3<101.2", 102, 3},
	"of one line, with none here":   {"101.1 102.2<101.1 103.3<102.2", 103, 3},
	"beside one of no base":         {"100.1 101.2 102.2<100.1", 102, 2},
	"beside another run's":          {"100.1 !101.2<100.1 102.3<100.1", 102, 3},
	"beside a fork's":               {"100.1 66.2<100.1 102.3<100.1", 102, 3},
	"after a fork's":                {"100.1 100.2 66.3<100.2", 100, 2},
	"of the same run":               {"100.1 102.2<100.1 102.3<100.1", 102, 3},
	"none that has expired":         {"100.1 101.0-", 100, 1},
	"its own, after another":        {"100.1 101.2<100.1 100.3<101.2", 100, 3},
	"beside one that can't be read": {"100.1 101.2? 102.3<100.1", 102, 3},
	"of the last of many":           {"100.1 101.2<100.1 102.3<101.2 103.4<102.3 104.5<103.4 105.6<104.5 106.7<105.6 107.8<106.7 108.9<107.8", 108, 9},
	"before many of other runs":     {"100.1 101.2<100.1 !102.1 !103.1 !104.1 !105.1 !106.1 !107.1 !108.1", 101, 2},
	"two others":                    {"101.1 102.2<101.1 103.2<101.1", 0, 0},
	"two that resumed this one's, of which one has gone on": {"100.1 101.2<100.1 101.3<100.1 102.2<100.1", 0, 0},
	"another one, which is newer":                           {"100.1 100.2 101.2<100.1 101.3<100.1", 0, 0},
	"another one, which is older":                           {"100.1 101.2<100.1 100.2<100.1 100.3<100.1", 0, 0},
	"another one, while this one went on":                   {"101.1 100.2<101.1 102.3<100.2 100.3<101.1 100.4<101.1", 0, 0},
	"another one, as new":                                   {"100.1 100.2<100.1 101.2<100.1", 0, 0},
}

// TestNewestCheckpointOfAnyWorkflowRunIsFound checks that the newest checkpoint is found in any
// workflow run that has continued the run. There is a conflict if two workflow runs, possibly
// including this one, have resumed the same checkpoint, or if the first has resumed a checkpoint of
// the second, which continued as well.
func TestNewestCheckpointOfAnyWorkflowRunIsFound(t *testing.T) {
	for name, tt := range newest {
		t.Run(name, func(t *testing.T) {
			behaving(t, func(s *scene) {
				for run := int64(101); run <= 108; run++ {
					s.addRun(run, nil)
				}
				s.addRun(66, func(r *artifactstest.Run) { r.HeadRepository = 666 })
				s.putAll(tt.stored)
				if tt.run == 0 {
					_, err := s.find(s.query(slots.Auto))
					assert.Check(s.t, isConflict(err), "got %v", err)
					assert.Check(s.t, is.Equal(strings.Count(fmt.Sprint(err), "workflow run 10"), 2), "%v", err)
					return
				}
				found := s.expect(name, slots.Auto, tt.run, tt.generation)
				isHere, isElsewhere := strings.HasPrefix(tt.stored, "100"), tt.run != 100
				assert.Check(s.t, is.Equal(found.OlderHere, isHere && isElsewhere))
				assert.Check(s.t, (len(found.Existing) > 0) == isHere && found.Warning == "", "found %+v", found)
				assert.Check(s.t, !isElsewhere || found.RunStatus == "completed" && found.RunURL == fmt.Sprint(s.URL, "/runs/", tt.run), "found %+v", found)
			})
		})
	}
}

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

// TestSealedCheckpointOfAnyBranchIsTrusted checks that an event that runs on the default branch
// resumes a sealed checkpoint of any branch of this repository, and skips checkpoints of other
// branches that are not sealed with our key, so that no branch can block it. A damaged checkpoint
// of the own branch is not skipped.
func TestSealedCheckpointOfAnyBranchIsTrusted(t *testing.T) {
	s := newScene(t)
	s.addRun(1, func(r *artifactstest.Run) { r.HeadBranch, r.Event = "topic", "pull_request" })
	s.put(1, 4, nil)
	s.addRun(2, func(r *artifactstest.Run) { r.HeadBranch = "evil" })
	s.put(2, 5, func(m *checkpoint.Manifest) { m.Program = "unsealed" })
	s.addRun(3, func(r *artifactstest.Run) { r.HeadRepository = 666 })
	s.put(3, 6, nil)
	s.addRun(4, func(r *artifactstest.Run) { r.Path = ".github/workflows/other.yml" })
	s.put(4, 7, nil)
	q := s.query(slots.Auto)
	q.Read = func(f *os.File, size int64, dir string) (checkpoint.Manifest, string, error) {
		m, digest, err := readJSON(f, size, dir)
		if m.Program == "unsealed" {
			err = checkpoint.ErrNotSigned
		}
		return m, digest, err
	}
	if found, err := s.find(q); err != nil || found.Manifest != nil {
		t.Errorf("without a seal of ours: got %+v, %v; want nothing", found.Manifest, err)
	}
	q.Origin.Sealed = true
	found, err := s.find(q)
	assert.Assert(t, err == nil && found.Manifest != nil && found.RunID == 1, "with one: got %+v, %v; want that of run 1", found, err)
	if !slices.ContainsFunc(found.Notices, func(n string) bool { return strings.Contains(n, "workflow run 2") && strings.Contains(n, "state-key") }) {
		t.Errorf("notices: got %q, want one that run 2 is not sealed with our key", found.Notices)
	}
	s.addRun(5, nil)
	s.put(5, 8, func(m *checkpoint.Manifest) { m.Key = "another" })
	var invalid *checkpoint.Invalid
	_, err = s.find(q)
	assert.Check(t, errors.As(err, &invalid), "one of our own branch that is damaged: %v", err)
}
