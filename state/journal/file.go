package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
)

// ErrNotFound is returned if there is no run with the given id.
var ErrNotFound = errors.New("no such run")

// notFound returns an ErrNotFound error that names the run and the folder that was searched.
func notFound(dir, id string) error {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return fmt.Errorf("%q in %s: %w", id, dir, ErrNotFound)
}

// ErrExists is returned if a new run has an id that is already in use.
var ErrExists = errors.New("a run with this id exists")

// File stores one Run on disk, as a snapshot ({id}.json) and a journal of its steps. It holds the
// run's lock from Create or Open until Close. It is not safe for concurrent use: only the owner of the
// run uses it.
type File struct {
	dir, id      string
	lock         *flock.Flock
	log          IntegrityLog
	maxHistory   int64 // maximum size of the journal, in bytes
	snapshotSize int64 // size of the snapshot, in bytes
	seq          int   // number of the last step on disk
	isDirSynced  bool  // whether the directory entries of the files have been synced
	lines        lines
}

// IntegrityLog records each change to the files before and after it is made, so that a later process
// can detect changes by other programs. If a method that is called before a change returns an error,
// the change is not made.
type IntegrityLog interface {
	Replace(path string, data []byte) error // called before data replaces the content of the file; a missing file counts as empty
	Append(path string, data []byte) error  // called before data is appended to the file
	Done(path string) error                 // called after the change to the file is complete
	Adopt(path string) error                // accepts the current content of the file as its initial content
}

// noLog is an IntegrityLog that records nothing.
type noLog struct{}

func (noLog) Replace(string, []byte) error { return nil }
func (noLog) Append(string, []byte) error  { return nil }
func (noLog) Done(string) error            { return nil }
func (noLog) Adopt(string) error           { return nil }

// SetIntegrityLog sets the log that records changes. Call it before the first change to the files.
func (f *File) SetIntegrityLog(s IntegrityLog) { f.log = s }

// SetMaxHistory limits the size of the journal, in bytes. The default is DefaultHistory. If size is 0,
// the journal keeps no steps from before the snapshot. Call it before the first change to the files.
func (f *File) SetMaxHistory(size int64) { f.maxHistory = size }

// Create takes the lock for a new run, and deletes the journal of a deleted run with the same id. It
// fails with ErrExists or *LockedError. holder is a line that describes this process; see HolderLine.
func Create(dir, id, holder string) (*File, error) {
	f, err := acquire(dir, id, holder)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(f.path(".json")); err == nil {
		return nil, errors.Join(fmt.Errorf("%q: %w", id, ErrExists), f.Close())
	}
	if err := ignoreMissing(disk.remove(f.path(Ext))); err != nil { // left by a deleted run
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Open takes the lock of an existing run and reads the run. It does not change the snapshot or the
// journal. It fails with ErrNotFound, *LockedError or *FileError. holder is a line that describes this
// process; see HolderLine.
func Open(dir, id, holder string) (*File, *state.Run, error) {
	if _, err := os.Stat(filepath.Join(dir, id+".json")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, notFound(dir, id)
	}
	f, err := acquire(dir, id, holder)
	if err != nil {
		return nil, nil, err
	}
	r, err := Read(dir, id)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	f.seq = r.Progress.Seq
	return f, r, nil
}

// acquire creates the state folder, takes the run's lock, and removes temporary files.
func acquire(dir, id, holder string) (*File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// A parent that is named .raymond gets a .gitignore, so that git ignores it.
	if top := filepath.Dir(dir); filepath.Base(top) == ".raymond" {
		ignore := filepath.Join(top, ".gitignore")
		_, err := os.Lstat(ignore)
		if err != nil {
			err = files.WriteNew(ignore, []byte("*\n"), 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) { // another process may have created the file
			return nil, err
		}
	}
	f := &File{dir: dir, id: id, log: noLog{}, maxHistory: DefaultHistory}
	if err := f.takeLock(holder); err != nil {
		return nil, err
	}
	for _, ext := range []string{".json", Ext} { // left by a process that was killed
		if err := ignoreMissing(disk.remove(f.path(ext) + tempExt)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// path returns the path of the run's file with the extension ext.
func (f *File) path(ext string) string { return filepath.Join(f.dir, f.id+ext) }

// Close releases the lock and removes the holder file. The lock file remains: if it were removed, two
// processes could lock two different files with the same name.
func (f *File) Close() error {
	var err error
	if f.lines.file != nil {
		err = f.lines.file.Close()
	}
	_ = os.Remove(f.path(holderExt))
	return errors.Join(err, f.lock.Close())
}

// Read reads the current state of a run from its snapshot and journal, without taking the run's lock.
// It fails with ErrNotFound or *FileError.
func Read(dir, id string) (*state.Run, error) {
	// The journal is opened before the snapshot, because the run's owner may write a new snapshot
	// and a shorter journal in between. The snapshot then already includes the steps in the journal
	// that was opened here.
	path := filepath.Join(dir, id+Ext)
	journal, _, journalErr := files.Open(path)
	if journalErr == nil {
		defer journal.Close()
	}
	snapshot := filepath.Join(dir, id+".json")
	data, err := disk.read(snapshot)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound(dir, id)
	}
	if err != nil {
		return nil, within(snapshot, err)
	}
	r, err := state.Decode(data)
	if err == nil && r.WorkflowID != id {
		err = &state.FileError{Field: "workflow_id", What: fmt.Sprintf("is %q in the file of %q", r.WorkflowID, id)}
	}
	switch {
	case err != nil:
		return nil, within(snapshot, err)
	case journalErr != nil:
		return r, within(path, ignoreMissing(journalErr))
	}
	return r, within(path, replay(r, journal))
}

// within adds the path to a *FileError that has no path. It also converts errors about files that are too
// large or not regular into a *FileError.
func within(path string, err error) error {
	switch {
	case errors.Is(err, files.ErrNotRegular):
		err = &state.FileError{What: "is not a regular file"}
	case errors.Is(err, files.ErrTooLarge):
		err = &state.FileError{What: fmt.Sprintf("has more than %d bytes", maxFile)}
	}
	var bad *state.FileError
	if errors.As(err, &bad) && bad.Path == "" {
		bad.Path = path
	}
	return err
}

// List returns the sorted ids of all runs in a folder. It returns no ids if the folder does not exist.
func List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && state.ValidID(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// WriteSnapshot replaces the snapshot with r. When it returns nil, {id}.json alone contains the whole
// run and survives a crash of the machine. After an error, the files contain either the complete old
// run or the complete r. d is the step that led to r, if the journal does not contain that step yet. If
// no single step led to r, d is nil. If ready is not nil, it is called before the old snapshot is
// replaced; if it returns an error, the old snapshot remains.
func (f *File) WriteSnapshot(r *state.Run, d *state.Delta, ready func() error) error {
	data, err := r.Encode()
	if err == nil {
		err = checkSize(data)
	}
	if err == nil {
		err = f.appendBeforeSnapshot(r, d)
	}
	if err == nil {
		err = f.replace(f.path(".json"), data, ready)
	}
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	f.seq, f.isDirSynced, f.lines.appended, f.snapshotSize = r.Progress.Seq, true, 0, int64(len(data))
	if f.lines.size <= f.maxHistory {
		return nil
	}
	// The oldest lines of the journal are dropped, so that about half of its maximum size remains.
	old := f.lines.file
	f.lines.file = nil // the file will be replaced
	if err := old.Close(); err != nil {
		return err
	}
	path, keep := f.path(Ext), []byte(nil)
	if f.maxHistory > 0 {
		if keep, err = newestLines(path, r, f.lines.size-f.maxHistory/2); err != nil {
			return err
		}
	}
	return f.replace(path, keep, nil)
}

// checkSize returns an error if data is too large to be read again.
func checkSize(data []byte) error {
	if len(data) > maxFile {
		return fmt.Errorf("%d bytes are more than the maximum of %d", len(data), maxFile)
	}
	return nil
}

// ignoreMissing returns nil if err is the error for a missing file, and otherwise err.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tempExt is appended to the name of a file while its new content is written.
const tempExt = ".tmp"

// replace replaces the content of a file atomically, and reports the change to the integrity log. If
// ready is not nil, replace calls it before the file is replaced; see WriteSnapshot.
func (f *File) replace(path string, data []byte, ready func() error) (err error) {
	tmp := path + tempExt
	// A killed process may have left this file, or an agent may have created a pipe.
	if err := ignoreMissing(disk.remove(tmp)); err != nil {
		return err
	}
	w, err := disk.open(tmp, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreMissing(disk.remove(tmp)))
		}
	}()
	if _, err := w.WriteAt(data, 0); err != nil {
		return errors.Join(err, w.Close())
	}
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		return err
	}
	if ready != nil {
		if err := ready(); err != nil {
			return err
		}
	}
	if err := f.log.Replace(path, data); err != nil {
		return err
	}
	if err := disk.rename(tmp, path); err != nil {
		return err
	}
	return errors.Join(f.log.Done(path), disk.syncDir(f.dir))
}
