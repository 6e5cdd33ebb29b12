package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/raymond-action/raymond-action/internal/processes"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
)

// LockedError is returned if another process holds the lock of a run.
type LockedError struct {
	ID     string
	Holder string // the content of the holder file, which names the process; "" if the file can't be read
}

// Error implements error.
func (e *LockedError) Error() string {
	return fmt.Sprintf("run %q is driven by another process (%s)", e.ID, strings.TrimSpace(e.Holder))
}

// HolderLine returns a line that describes a process that has held a lock since the given time.
func HolderLine(pid int, host string, since time.Time) string {
	return fmt.Sprintf("process %d on %s since %s", pid, host, since.UTC().Format(time.RFC3339))
}

// Driver is the process that drives a run.
type Driver struct {
	PID  int    `json:"pid"` // id of the process; 0 if the process has not written its line to the holder file yet
	Host string `json:"host"`
}

// driverOf parses a line that HolderLine returned. For any other text it returns the zero Driver.
func driverOf(line string) Driver {
	var d Driver
	if _, err := fmt.Sscanf(line, "process %d on %s since", &d.PID, &d.Host); err != nil {
		return Driver{}
	}
	return d
}

// mayBeAlive reports whether the process may still be running. A process on another machine is assumed
// to be running.
func (d Driver) mayBeAlive() bool {
	host, err := os.Hostname()
	return d.PID > 0 && (err != nil || d.Host != host || !processes.IsDead(d.PID))
}

// FindDriver returns the process that drives a run, or nil if no process does. It writes nothing, and does
// not keep other processes from driving the run.
func FindDriver(dir, id string) (*Driver, error) {
	path := filepath.Join(dir, id+".lock")
	free, line, err := awaitLock(dir, id, 0, func() (bool, error) {
		if err := checkLock(path); err != nil {
			return false, err
		}
		lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
		free, err := lock.TryRLock()
		return free, errors.Join(err, lock.Close())
	})
	if errors.Is(err, fs.ErrNotExist) || free {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check the lock of run %q: %w", id, err)
	}
	d := driverOf(line)
	if d.PID > 0 && !d.mayBeAlive() {
		return nil, nil
	}
	return &d, nil
}

// holderExt is the extension of the file that describes the holder of a run's lock. It follows the run's
// id. The description is not in the lock file, because on Windows a locked file can't be read or written
// through another handle, not even by the holder.
const holderExt = ".holder"

// maxHolder is the maximum number of bytes to read from a holder file.
const maxHolder = 4 << 10

// checkLock returns an error if path is not a regular file. It must be called before path is opened as a
// lock file, because opening a named pipe would block forever.
func checkLock(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &state.FileError{Path: path, What: "is not a regular file"}
	}
	return nil
}

// These times limit how long to wait for a lock that another process holds.
const (
	// lockTimeout applies if the holder file names no living process. Either the holder has not written
	// its line yet, or it has died. If it died while it was starting a child, the child keeps the lock
	// for a few milliseconds, between fork and exec.
	lockTimeout = 5 * time.Second
	// livingLockTimeout applies if the holder may be alive. It is not zero, because FindDriver in
	// another process also takes the lock for a moment. lockPoll is the time between two attempts.
	livingLockTimeout = 50 * time.Millisecond
	lockPoll          = 10 * time.Millisecond
)

// awaitLock calls try until it gets the lock or the time is over. It waits for livingTimeout if the
// holder of the lock may be alive, and otherwise for lockTimeout. If the lock does not become free in
// time, it returns the line that describes the holder.
func awaitLock(dir, id string, livingTimeout time.Duration, try func() (bool, error)) (ok bool, holder string, err error) {
	for began := time.Now(); ; time.Sleep(lockPoll) {
		if ok, err = try(); ok || err != nil {
			return ok, "", err
		}
		timeout := lockTimeout
		line, _, _ := files.Read(filepath.Join(dir, id+holderExt), maxHolder) // "" if the file can't be read
		if holder = string(line); driverOf(holder).mayBeAlive() {
			timeout = livingTimeout
		}
		if time.Since(began) >= timeout {
			return false, holder, nil
		}
	}
}

// takeLock takes the lock of the run and writes the holder file. If another process holds the lock,
// takeLock returns a *LockedError.
func (f *File) takeLock(holder string) error {
	f.lock = flock.New(f.path(".lock"), flock.SetPermissions(0o600))
	if err := ignoreMissing(checkLock(f.path(".lock"))); err != nil {
		return err
	}
	ok, other, err := awaitLock(f.dir, f.id, livingLockTimeout, f.lock.TryLock)
	if err != nil {
		return fmt.Errorf("lock run %q: %w", f.id, err)
	}
	if !ok {
		return errors.Join(&LockedError{ID: f.id, Holder: other}, f.lock.Close())
	}
	// If the disk is full, the run continues without this file.
	_ = files.Write(f.path(holderExt), []byte(holder+"\n"), 0o600)
	return nil
}
