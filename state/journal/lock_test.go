package journal

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

// deadPID is the id of a process that does not exist: it is larger than any process id on Linux.
const deadPID = 1 << 30

// holderLine returns the line that a process with this id on this machine would write to its holder file.
func holderLine(t *testing.T, pid int) string {
	t.Helper()
	host, err := os.Hostname()
	assert.NilError(t, err)
	return HolderLine(pid, host, time.Now()) + "\n"
}

// holdLock takes the lock of the run "run-1" and writes line to its holder file.
func holdLock(t *testing.T, line string) (dir string, lock *flock.Flock) {
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

// TestLockWaitIsShort checks how long Create waits for a lock. It waits long enough for the holder to
// write its line, or for a child of a dead holder to close the lock. If the holder is alive, it hardly
// waits.
func TestLockWaitIsShort(t *testing.T) {
	alive := holderLine(t, os.Getpid())
	dead, driver := 5*time.Second, -1
	// Only on Linux can the program find out that a process is dead.
	if runtime.GOOS != "linux" {
		dead, driver = 50*time.Millisecond, deadPID
	}
	for name, c := range map[string]struct {
		line   string
		waited time.Duration
		driver int // process id that FindDriver returns; -1 if it returns nil
	}{
		"alive":            {alive, 50 * time.Millisecond, os.Getpid()},
		"elsewhere":        {HolderLine(deadPID, "another.example", time.Now()) + "\n", 50 * time.Millisecond, deadPID},
		"without its name": {"", 5 * time.Second, 0},
		"half its name":    {alive[:len(alive)/4], 5 * time.Second, 0},
		"dead":             {holderLine(t, deadPID), dead, driver},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir, lock := holdLock(t, c.line)
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
			assert.Check(t, err, "%s: FindDriver", name)
			assert.Check(t, is.Equal(driver, c.driver), "%s: FindDriver", name)
			time.AfterFunc(c.waited-lockPoll, func() { lock.Close() })
			f, err := Create(dir, "run-1", "me")
			assert.NilError(t, err, "%s: Create, when the lock is given back meanwhile", name)
			f.Close()
		})
	}
}

// TestFindDriverChecksTheLock checks that FindDriver waits for the holder's line, that it finds no driver
// if the lock is free, and that it does not create a lock file.
func TestFindDriverChecksTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := holderLine(t, os.Getpid())
		dir, lock := holdLock(t, name[:len(name)/4])
		// A process writes its line shortly after it has taken the lock.
		time.AfterFunc(time.Second/2, func() { write(t, filepath.Join(dir, "run-1.holder"), []byte(name)) })
		d, err := FindDriver(dir, "run-1")
		assert.NilError(t, err)
		assert.Check(t, d != nil && d.PID == os.Getpid() && d.Host != "", "held: got %v, want this process", d)
		lock.Close()
		d, err = FindDriver(dir, "run-1")
		assert.Check(t, d == nil && err == nil, "free, with a living process in the holder file: got %v, %v, want no driver", d, err)
		d, err = FindDriver(dir, "run-2")
		assert.Check(t, d == nil && err == nil, "no lock: got %v, %v, want no driver", d, err)
		_, err = os.Lstat(filepath.Join(dir, "run-2.lock"))
		assert.Check(t, err != nil, "asking made a lock file")
	})
}
