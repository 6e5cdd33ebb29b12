package slots_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
)

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
