//go:build linux

package session_test

import (
	"errors"
	"fmt"
	"os"
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
	effects := invarianttest.EffectsOf(whole.Lines("effects"))
	full := 0
	for blocks, done := 1, false; !done; blocks += sitetest.Dose(6, 1) {
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

// TestACopyThatTakesNothing costs the run nothing but the copy.
func TestACopyThatTakesNothing(t *testing.T) {
	t.Parallel()
	s := killableSite(t)
	o := s.Start(append(s.killableArgs(), "--events", "/dev/full")...).Wait()
	s.wantTheEnd(o)
	if !strings.Contains(o.Stderr, "no space left on device; nothing more goes there") {
		t.Errorf("got %v, want a warning", o)
	}
}

// onSmallDisk mounts a disk of its own for the state, runs raymond there, and again when
// the disk has room. It ends with 99 where nobody may mount one. What is on the disk in
// the end is left behind in the folder kept.
const onSmallDisk = `mount -t tmpfs -o size="$1" none .raymond || exit 99
size=$1 bin=$2 flow=$3
"$bin" run "$flow" --workflow-id w --input in --max-parallel 3 --budget 0
code=$?
cp -a .raymond/. before
mount -o remount,size=64m .raymond || exit 99
if [ -e .raymond/state/w.json ]; then
	"$bin" resume w || exit
else
	"$bin" run "$flow" --workflow-id w --input in --max-parallel 3 --budget 0 || exit
fi
cp -a .raymond/. kept
echo "first: $code"
`

// TestAFullDisk has a disk of some pages, which root can make, and others where the
// system lets them. Elsewhere TestFilesThatCanNotGrow stands for it, and the log says so.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	full := 0
	for pages := 2; pages < 16; pages += sitetest.Dose(4, 1) {
		s := killableSite(t)
		for _, dir := range []string{".raymond", "before", "kept"} {
			if err := os.Mkdir(s.File(dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("unshare", "-rm", "sh", "-c", onSmallDisk, "sh", fmt.Sprint(4*pages, "k"), s.Bin, s.Flow)
		cmd.Dir, cmd.Env = s.Work, s.Env
		o := sitetest.Begin(t, cmd).Wait()
		if o.Code == 99 || strings.Contains(o.Stderr, "unshare:") {
			t.Logf("no disk could be mounted here: %s", o.Stderr)
			return
		}
		if o.Code != 0 || !strings.Contains(o.Stdout, "the end\n") {
			t.Errorf("%d pages: got %v, want a run that comes to its end when there is room", pages, o)
		}
		if strings.HasSuffix(o.Stdout, "first: 9\n") {
			full++
		} else if !strings.HasSuffix(o.Stdout, "first: 0\n") {
			t.Errorf("%d pages: got %v, want exit code 9 or 0 from the first", pages, o)
		}
		if err := errors.Join(os.Remove(s.File(".raymond")), os.Rename(s.File("kept"), s.File(".raymond"))); err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("%d runs met a full disk", full); full == 0 {
		t.Error("no run met a full disk, want some")
	}
}
