//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// refsOf are the refs of the snapshots in the last checkpoint. Whether there is one of the
// resume depends on whether the script was quicker than the snapshot of the prompt before it.
func refsOf(t *testing.T, s *scene) []string {
	t.Helper()
	all := s.checkpoints()
	stored := sitetest.ReadStored(t, all[len(all)-1], nil)
	data, err := os.ReadFile(filepath.Join(stored.Dir, "workspace", workspace.BundleName))
	if err != nil {
		return nil
	}
	var refs []string
	for line := range strings.Lines(string(data)) {
		if line == "\n" {
			break
		}
		if _, ref, ok := strings.Cut(strings.TrimSpace(line), " refs/raymond/"); ok && !strings.HasPrefix(ref, "starts/") {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	return refs
}

// TestSnapshotsGoToTheNextJob with the run, which adds its own. With workspace: none there
// are none.
func TestSnapshotsGoToTheNextJob(t *testing.T) {
	t.Parallel()
	s := newScene(t, agentAtWork)
	s.talks(1, "max-iterations", "2").do(problem.ExitCodes[problem.ClassOverLimit])
	if got, want := refsOf(t, s), []string{"snapshots/0", "snapshots/1"}; !slices.Equal(got, want) {
		t.Errorf("snapshots in the checkpoint of the first job: got %q, want %q", got, want)
	}
	e := s.talks(2, "max-iterations", "9").do(0)
	e.wantOutputs(t, "status", "completed")
	if got, want := refsOf(t, s), []string{"snapshots/0", "snapshots/1", "snapshots/3"}; !slices.Equal(got, want) {
		t.Errorf("snapshots in the checkpoint of the second job: got %q, want %q", got, want)
	}

	s = newScene(t, unannounced)
	s.talks(1).do(0).wantOutputs(t, "result", "asked")
	if got, want := refsOf(t, s), []string{"snapshots/2"}; !slices.Equal(got, want) {
		t.Errorf("snapshots of a prompt that no file leads to: got %q, want %q", got, want)
	}

	s = newScene(t, agentAtWork)
	s.talks(1, "max-iterations", "2", "workspace", "none").do(problem.ExitCodes[problem.ClassOverLimit])
	if got := refsOf(t, s); got != nil {
		t.Errorf("with workspace: none: got %q", got)
	}
}
