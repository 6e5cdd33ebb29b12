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

// limited runs raymond where no file may have more than so many blocks of 512 bytes.
func (s *site) limited(blocks int, args ...string) sitetest.Outcome {
	s.T.Helper()
	s.Witness()
	cmd := exec.Command("sh", append([]string{"-c", fmt.Sprintf("ulimit -f %d && exec \"$@\"", blocks), "sh", s.Bin}, args...)...)
	cmd.Dir, cmd.Env = s.Work, s.Env
	return sitetest.Begin(s.T, cmd).Wait()
}

// TestFilesThatCanNotGrow has the disk end at each block of what a run writes: the run
// ends with an error, or does without what could not be written, and is resumed where it
// stopped when there is room again.
func TestFilesThatCanNotGrow(t *testing.T) {
	t.Parallel()
	whole := killableSite(t)
	whole.Raymond(0, whole.killableArgs()...)
	effects := invarianttest.ParseEffects(whole.Lines("effects"))
	full := 0
	for blocks, done := 1, false; !done; blocks += sitetest.Dose(10, 1) {
		t.Run(fmt.Sprint(blocks), func(t *testing.T) {
			s := killableSite(t)
			s.Whole = effects
			o := s.limited(blocks, s.killableArgs()...)
			if o.Code == 0 {
				s.wantTheEnd(o)
				done = true
				return
			}
			if full++; o.Code != 9 || !strings.Contains(o.Stderr, "free some space; the last saved state is whole") {
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
