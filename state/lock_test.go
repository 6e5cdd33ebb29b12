package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

func holderLine(t *testing.T, pid int) string {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
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

// TestALockIsWaitedForAWhile: whoever asks who drives a run has the lock for a moment, and a child of a process that
// was killed may have it for some milliseconds more.
func TestALockIsWaitedForAWhile(t *testing.T) {
	line := holderLine(t, os.Getpid())
	dir, lock := held(t, line)
	waited := fakeLockTime(t, func(time.Duration) {})
	var locked *LockedError
	if _, err := Create(dir, "run-1", "me"); !errors.As(err, &locked) || locked.Holder != line || *waited > time.Second {
		t.Errorf("Create: %v after %v, want LockedError by %q after a second at most", err, *waited, line)
	}
	fakeLockTime(t, func(time.Duration) { lock.Close() })
	f, err := Create(dir, "run-1", "me")
	if err != nil {
		t.Fatalf("Create, when the lock is given back meanwhile: %v", err)
	}
	f.Close()
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
	if _, err := os.Lstat(filepath.Join(dir, "run-2.lock")); err == nil {
		t.Error("asking made a lock file")
	}
}
