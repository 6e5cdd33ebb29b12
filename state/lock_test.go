package state

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// deadHolder is the line of a process of this machine that has ended; "" on Windows, where no child has a lock of its
// parent's, and nobody asks who lives.
func deadHolder(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		return ""
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return holderLine(t, cmd.Process.Pid)
}

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

func TestHolderIsWaitedForNoLongerThanNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		most time.Duration
	}{
		"dead":             {deadHolder(t), 5 * time.Second},
		"alive":            {holderLine(t, os.Getpid()), 100 * time.Millisecond},
		"elsewhere":        {Holder(1, "another.example", time.Now()) + "\n", 100 * time.Millisecond},
		"without its name": {"", 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := held(t, c.line)
			waited := fakeLockTime(t, func(time.Duration) {})
			_, err := Create(dir, "run-1", "me")
			var locked *LockedError
			if !errors.As(err, &locked) || locked.Holder != c.line || *waited > c.most {
				t.Errorf("Create: %v after %v, want LockedError by %q after %v at most", err, *waited, c.line, c.most)
			}
		})
	}
}

// TestAHolderIsNotToldBeforeItsNameIsThere: a process writes its name into the lock just after it
// took it. Before that there is nothing in it, or the line of one before that was killed.
func TestAHolderIsNotToldBeforeItsNameIsThere(t *testing.T) {
	name := holderLine(t, os.Getpid())
	for what, before := range map[string]string{"nothing": "", "half a name": name[:len(name)-3], "a dead process": deadHolder(t)} {
		t.Run(what, func(t *testing.T) {
			dir, _ := held(t, before)
			path := filepath.Join(dir, "run-1.holder")
			waited := fakeLockTime(t, func(waited time.Duration) {
				if waited > 4*time.Second {
					write(t, path, []byte(name))
				}
			})
			var locked *LockedError
			if _, err := Create(dir, "run-1", "me"); !errors.As(err, &locked) || locked.Holder != name {
				t.Errorf("Create: got %v after %v, want LockedError by %q", err, *waited, name)
			}
			write(t, path, []byte(before))
			*waited = 0
			if d, err := DrivenBy(dir, "run-1"); err != nil || d == nil || d.PID != os.Getpid() {
				t.Errorf("DrivenBy: got %v, %v after %v, want this process", d, err, *waited)
			}
		})
	}
}

func TestDrivenByAsksTheLock(t *testing.T) {
	dir, lock := held(t, holderLine(t, os.Getpid()))
	if d, err := DrivenBy(dir, "run-1"); err != nil || d == nil || d.PID != os.Getpid() || d.Host == "" {
		t.Errorf("held: got %v, %v, want this process", d, err)
	}
	lock.Close()
	if d, err := DrivenBy(dir, "run-1"); err != nil || d != nil {
		t.Errorf("free, with a living process's name in it: got %v, %v, want nobody", d, err)
	}
	if d, err := DrivenBy(dir, "run-2"); err != nil || d != nil {
		t.Errorf("no lock: got %v, %v, want nobody", d, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "run-2.lock")); err == nil {
		t.Error("asking made a lock file")
	}
	line := deadHolder(t)
	if line == "" {
		return
	}
	dir, _ = held(t, line)
	fakeLockTime(t, func(time.Duration) {})
	if d, err := DrivenBy(dir, "run-1"); err != nil || d != nil {
		t.Errorf("held by what a dead process left: got %v, %v, want nobody", d, err)
	}
}
