package state

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// never is more than a process id can be on Linux.
const never = 1 << 30

func holderLine(t *testing.T, pid int) string {
	t.Helper()
	host, err := os.Hostname()
	assert.NilError(t, err)
	return Holder(pid, host, time.Now()) + "\n"
}

// held takes a lock beside which line stands.
func held(t *testing.T, line string) (dir string, lock *flock.Flock) {
	t.Helper()
	dir = t.TempDir()
	lock = flock.New(filepath.Join(dir, "run-1.lock"))
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatalf("take the lock: %v, %v", ok, err)
	}
	t.Cleanup(func() { lock.Close() })
	write(t, filepath.Join(dir, "run-1.holder"), []byte(line))
	return dir, lock
}

// fakeLockTime makes waiting for a lock take no time, and calls each at every wait
// with the time waited so far.
func fakeLockTime(t *testing.T, each func(time.Duration)) (waited *time.Duration) {
	t.Helper()
	was := lockClock
	t.Cleanup(func() { lockClock = was })
	waited = new(time.Duration)
	lockClock.now = func() time.Time { return time.Unix(0, 0).Add(*waited) }
	lockClock.sleep = func(d time.Duration) {
		*waited += d
		each(*waited)
	}
	return waited
}

// TestALockIsWaitedForNoLongerThanNeeded: until its holder has written its name, or a child of a dead one has
// given it up. A living one is not waited for.
func TestALockIsWaitedForNoLongerThanNeeded(t *testing.T) {
	alive := holderLine(t, os.Getpid())
	dead, driver := 5*time.Second, -1
	if runtime.GOOS != "linux" { // which alone tells who is dead
		dead, driver = 50*time.Millisecond, never
	}
	for name, c := range map[string]struct {
		line   string
		waited time.Duration
		driver int // as DrivenBy tells it; -1 for none
	}{
		"alive":            {alive, 50 * time.Millisecond, os.Getpid()},
		"elsewhere":        {Holder(never, "another.example", time.Now()) + "\n", 50 * time.Millisecond, never},
		"without its name": {"", 5 * time.Second, 0},
		"half its name":    {alive[:len(alive)/4], 5 * time.Second, 0},
		"dead":             {holderLine(t, never), dead, driver},
	} {
		t.Run(name, func(t *testing.T) {
			dir, lock := held(t, c.line)
			waited := fakeLockTime(t, func(time.Duration) {})
			var locked *LockedError
			if _, err := Create(dir, "run-1", "me"); !errors.As(err, &locked) || locked.Holder != c.line || *waited != c.waited {
				t.Errorf("Create: %v after %v, want LockedError by %q after %v", err, *waited, c.line, c.waited)
			}
			driver := -1
			d, err := DrivenBy(dir, "run-1")
			if d != nil {
				driver = d.PID
			}
			assert.Check(t, err, "DrivenBy")
			assert.Check(t, is.Equal(driver, c.driver), "DrivenBy")
			fakeLockTime(t, func(waited time.Duration) {
				if waited >= c.waited-lockPoll {
					lock.Close()
				}
			})
			f, err := Create(dir, "run-1", "me")
			assert.NilError(t, err, "Create, when the lock is given back meanwhile")
			f.Close()
		})
	}
}

func TestDrivenByAsksTheLock(t *testing.T) {
	name := holderLine(t, os.Getpid())
	dir, lock := held(t, name[:len(name)/4])
	fakeLockTime(t, func(waited time.Duration) {
		if waited > time.Second/2 { // a process writes its name just after it took the lock
			write(t, filepath.Join(dir, "run-1.holder"), []byte(name))
		}
	})
	if d, err := DrivenBy(dir, "run-1"); err != nil || d == nil || d.PID != os.Getpid() || d.Host == "" {
		t.Errorf("held: got %v, %v, want this process", d, err)
	}
	lock.Close()
	if d, err := DrivenBy(dir, "run-1"); err != nil || d != nil {
		t.Errorf("free, with a living process's name beside it: got %v, %v, want nobody", d, err)
	}
	if d, err := DrivenBy(dir, "run-2"); err != nil || d != nil {
		t.Errorf("no lock: got %v, %v, want nobody", d, err)
	}
	_, err := os.Lstat(filepath.Join(dir, "run-2.lock"))
	assert.Check(t, err != nil, "asking made a lock file")
}
