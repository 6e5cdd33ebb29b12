package state

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
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
	return HolderLine(pid, host, time.Now()) + "\n"
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
		"elsewhere":        {HolderLine(never, "another.example", time.Now()) + "\n", 50 * time.Millisecond, never},
		"without its name": {"", 5 * time.Second, 0},
		"half its name":    {alive[:len(alive)/4], 5 * time.Second, 0},
		"dead":             {holderLine(t, never), dead, driver},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir, lock := held(t, c.line)
			began := time.Now()
			var locked *LockedError
			if _, err := Create(dir, "run-1", "me"); !errors.As(err, &locked) || locked.Holder != c.line || time.Since(began) != c.waited {
				t.Errorf("%s: Create: %v after %v, want LockedError by %q after %v", name, err, time.Since(began), c.line, c.waited)
			}
			driver := -1
			d, err := FindDriver(dir, "run-1")
			if d != nil {
				driver = d.PID
			}
			assert.Check(t, err, "%s: DrivenBy", name)
			assert.Check(t, is.Equal(driver, c.driver), "%s: DrivenBy", name)
			time.AfterFunc(c.waited-lockPoll, func() { lock.Close() })
			f, err := Create(dir, "run-1", "me")
			assert.NilError(t, err, "%s: Create, when the lock is given back meanwhile", name)
			f.Close()
		})
	}
}

func TestDrivenByAsksTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := holderLine(t, os.Getpid())
		dir, lock := held(t, name[:len(name)/4])
		time.AfterFunc(time.Second/2, func() { write(t, filepath.Join(dir, "run-1.holder"), []byte(name)) }) // a process writes its name just after it took the lock
		d, err := FindDriver(dir, "run-1")
		assert.NilError(t, err)
		assert.Check(t, d != nil && d.PID == os.Getpid() && d.Host != "", "held: got %v, want this process", d)
		lock.Close()
		d, err = FindDriver(dir, "run-1")
		assert.Check(t, d == nil && err == nil, "free, with a living process's name beside it: got %v, %v, want nobody", d, err)
		d, err = FindDriver(dir, "run-2")
		assert.Check(t, d == nil && err == nil, "no lock: got %v, %v, want nobody", d, err)
		_, err = os.Lstat(filepath.Join(dir, "run-2.lock"))
		assert.Check(t, err != nil, "asking made a lock file")
	})
}
