//go:build linux

package action_test

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

const fullDisk = "echo 'fatal: write error: No space left on device' >&2; exit 128"

// TestWhatCanNotBePackedIsLeftOut at the end of a run, and the rest is stored: that
// is told by manifest, log, annotation and page, and the run isn't passed off as one
// that can be resumed. The next run says what is lost. By main and by post.
func TestWhatCanNotBePackedIsLeftOut(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(heldFlow, "echo held", `[ -e "$EFFECTS.go" ] && exec echo '<result>done</result>'; echo held`, 1))
	path := sitetest.BrokenGit(t, fullDisk)
	stopped := s.job(1, "max-iterations", "1", "key", "main").set("PATH", path)
	e := stopped.do(problem.ExitCodes[problem.ClassOverLimit])
	e.wantOutputs(t, "resumable", "false", "status", "over_iterations")
	e.wantSays(t, "warning", "lacks the work in the workspace", "No space left on device")
	s.wantEverywhere(e, "its workspace could not be stored, because packing failed. Free some space on the disk of the machine.")
	if !strings.Contains(e.summary, "No space left") {
		t.Errorf("page: got\n%s\nwant why", e.summary)
	}

	killed := s.job(1, "key", "post").set("PATH", path)
	c := killed.start()
	c.Until("the state that holds", func() bool { return strings.Contains(s.done(), "held") })
	c.Kill()
	killed.post().wantSays(t, "warning", "lacks the work in the workspace", "No space left on device")

	for _, r := range s.forge.Checkpoints(t, nil) {
		left := r.Manifest.LeftOut
		if len(left) != 1 || left[0] != (checkpoint.LeftOut{What: "workspace", Held: true, Why: checkpoint.Unpacked}) {
			t.Errorf("%s: left out: got %v, want the workspace, because of the disk", r, left)
		}
	}
	s.letGo()
	next := s.job(2, "key", "main", "max-iterations", "9").do(0)
	next.wantSays(t, "warning", "a new run starts", "workspace", "could not be packed")
}
