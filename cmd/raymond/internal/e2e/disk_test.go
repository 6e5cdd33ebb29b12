//go:build linux

package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/invarianttest"
)

// TestFullDisk simulates a disk that becomes full, by limiting the size of files to each number of blocks in turn. The
// run must end with an error, or continue without the data that it could not write. Without the limit, it must
// resume where it stopped.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	whole := killableSite(t)
	whole.Raymond(0, whole.killableArgs()...)
	effects := invarianttest.ParseEffects(whole.Lines("effects"))
	full := 0
	for blocks, done := 1, false; !done; blocks += sitetest.Dose(10, 1) {
		t.Run(fmt.Sprint(blocks), func(t *testing.T) {
			s := killableSite(t)
			s.Undisturbed = effects
			s.RecordIdle()
			limit := fmt.Sprintf("ulimit -f %d && exec \"$@\"", blocks) // in blocks of 512 bytes
			cmd := exec.Command("sh", append([]string{"-c", limit, "sh", s.Bin}, s.killableArgs()...)...)
			cmd.Dir, cmd.Env = s.Work, s.Env
			o := sitetest.Begin(t, cmd).Wait()
			if o.Code == 0 {
				s.wantTheEnd(o)
				done = true
				return
			}
			if full++; o.Code != 9 || !strings.Contains(o.Stderr, "free some space; the last saved state is intact") {
				t.Errorf("files of %d blocks: got %v, want exit code 9 and what to do", blocks, o)
			}
			s.wantTheEnd(s.Start(s.killableArgs()...).Wait())
		})
		if t.Failed() || blocks > 400 {
			break
		}
	}
	t.Logf("%d runs met a file that could not grow", full)
}
