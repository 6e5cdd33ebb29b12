package state

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
)

// LockedError says that another process holds the lock of a run.
type LockedError struct {
	ID     string
	Holder string // the line that the process wrote beside the lock; "" for none
}

// Error implements error.
func (e *LockedError) Error() string {
	return fmt.Sprintf("run %q is driven by another process (%s)", e.ID, strings.TrimSpace(e.Holder))
}

// HolderLine returns the line by which a process names itself beside the lock.
func HolderLine(pid int, host string, since time.Time) string {
	return fmt.Sprintf("process %d on %s since %s", pid, host, since.UTC().Format(time.RFC3339))
}

// Driver is the process that drives a run.
type Driver struct {
	PID  int    `json:"pid"` // 0 when it did not name itself
	Host string `json:"host"`
}

// driverOf reads the line that Holder makes; the zero Driver of any other.
func driverOf(line string) Driver {
	var d Driver
	if _, err := fmt.Sscanf(line, "process %d on %s since", &d.PID, &d.Host); err != nil {
		return Driver{}
	}
	return d
}

// mayLive reports whether the process is not known to have ended. Of those on other machines nothing is known.
func (d Driver) mayLive() bool {
	host, err := os.Hostname()
	return d.PID > 0 && (err != nil || d.Host != host || !processes.IsDead(d.PID))
}

// FindDriver returns the process that drives a run, nil when nobody does. It does not
// write, and keeps no process from driving the run.
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
		return nil, fmt.Errorf("ask the lock of run %q: %w", id, err)
	}
	d := driverOf(line)
	if d.PID > 0 && !d.mayLive() {
		return nil, nil
	}
	return &d, nil
}

// holderExt is the extension of the file that names who has the lock of a run, after its id. It is a file of its own:
// Windows lets nobody, the holder included, write or read what is locked through another handle.
const holderExt = ".holder"

// maxHolder is more than a line that names a holder has, in bytes.
const maxHolder = 4 << 10

// checkLock returns an error for what must not be opened as a lock: opening a pipe would
// never return.
func checkLock(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &FileError{Path: path, What: "is not a regular file"}
	}
	return nil
}

// These are the times for which a lock is waited for.
const (
	// patience is for a lock beside which no living process is named: its holder has yet to write its name, or died
	// between fork and exec of a child, which has the lock for some milliseconds more.
	patience = 5 * time.Second
	// patienceWithLiving is for others: a process that asks who drives a run has the lock for a moment, too.
	patienceWithLiving = 50 * time.Millisecond
	lockPoll           = 10 * time.Millisecond
)

// awaitLock tries to get a lock until try has it, or its holder has had it for too long: living is for one that may be
// alive. Then it returns the line that names the holder.
func awaitLock(dir, id string, living time.Duration, try func() (bool, error)) (ok bool, holder string, err error) {
	for began := time.Now(); ; time.Sleep(lockPoll) {
		if ok, err = try(); ok || err != nil {
			return ok, "", err
		}
		most := patience
		line, _, _ := files.Read(filepath.Join(dir, id+holderExt), maxHolder) // it is "" when it can't be read
		if holder = string(line); driverOf(holder).mayLive() {
			most = living
		}
		if time.Since(began) >= most {
			return false, holder, nil
		}
	}
}

// take takes the lock of the run for holder, or fails with *LockedError.
func (f *File) take(holder string) error {
	f.lock = flock.New(f.path(".lock"), flock.SetPermissions(0o600))
	if err := ignoreMissing(checkLock(f.path(".lock"))); err != nil {
		return err
	}
	ok, other, err := awaitLock(f.dir, f.id, patienceWithLiving, f.lock.TryLock)
	if err != nil {
		return fmt.Errorf("lock run %q: %w", f.id, err)
	}
	if !ok {
		return errors.Join(&LockedError{ID: f.id, Holder: other}, f.lock.Close())
	}
	// On a full disk a run is driven without the name.
	_ = files.Write(f.path(holderExt), []byte(holder+"\n"), 0o600)
	return nil
}
