package state

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
)

// ErrNotFound says that there is no run with that id.
var ErrNotFound = errors.New("no such run")

// notFound says where a run was looked for.
func notFound(dir, id string) error {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return fmt.Errorf("%q in %s: %w", id, dir, ErrNotFound)
}

// ErrExists says that there is already a run with that id.
var ErrExists = errors.New("a run of that id exists")

// File keeps one Run: a snapshot ({id}.json) and beside it a journal of its
// steps. It holds the run's lock from Create or Open until Close.
// It is not safe for concurrent use; the owner of the run is its only user.
type File struct {
	dir, id  string
	lock     *flock.Flock
	seal     IntegrityLog
	most     int64 // bytes of the journal
	snapshot int64 // bytes of the snapshot
	seq      int   // the step that the run has on disk
	entered  bool  // the names of the files are on disk
	journal  journal
}

// IntegrityLog is told of each change of the files before it is made, and after it. An error
// prevents the change. Paths are those of the files.
type IntegrityLog interface {
	Replace(path string, data []byte) error // the file gets data instead of what it has; a missing file is an empty one
	Append(path string, data []byte) error  // the file gets data in addition
	Done(path string) error                 // it has it now
	Adopt(path string) error                // the file goes on from what it has
}

// unsealed is the Seal of files of which nobody is told.
type unsealed struct{}

func (unsealed) Replace(string, []byte) error { return nil }
func (unsealed) Append(string, []byte) error  { return nil }
func (unsealed) Done(string) error            { return nil }
func (unsealed) Adopt(string) error           { return nil }

// SetIntegrityLog says who is told of changes. It is for before the first one.
func (f *File) SetIntegrityLog(s IntegrityLog) { f.seal = s }

// SetMaxHistory says how many bytes of the run's steps are kept beside the snapshot; 0: none. It is for
// before the first change. Without it DefaultHistory is kept.
func (f *File) SetMaxHistory(most int64) { f.most = most }

// Create takes the lock for a new run. It fails with ErrExists or *LockedError.
// holder is a line that tells who drives the run.
func Create(dir, id, holder string) (*File, error) {
	f, err := acquire(dir, id, holder)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(f.path(".json")); err == nil {
		return nil, errors.Join(fmt.Errorf("%q: %w", id, ErrExists), f.Close())
	}
	if err := ignoreMissing(disk.remove(f.path(JournalExt))); err != nil { // of a run that is gone
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Open takes the lock of an existing run and reads it. It fails with
// ErrNotFound, *LockedError or *FileError, and leaves the files as they were.
func Open(dir, id, holder string) (*File, *Run, error) {
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

func acquire(dir, id, holder string) (*File, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	f := &File{dir: dir, id: id, seal: unsealed{}, most: DefaultHistory}
	if err := f.take(holder); err != nil {
		return nil, err
	}
	for _, ext := range []string{".json", JournalExt} { // of a killed process, which may have been the last one to write
		if err := ignoreMissing(disk.remove(f.path(ext) + tempExt)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// makeDir creates the state folder. A .raymond folder above it is hidden from git.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	top := filepath.Dir(dir)
	if filepath.Base(top) != ".raymond" {
		return nil
	}
	ignore := filepath.Join(top, ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	if err := files.WriteNew(ignore, []byte("*\n"), 0o600); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil // another process was faster
}

func (f *File) path(ext string) string { return filepath.Join(f.dir, f.id+ext) }

// Close releases the lock. The lock file stays: removing it would let two
// processes hold locks on two files of one name.
func (f *File) Close() error {
	var err error
	if f.journal.file != nil {
		err = f.journal.file.Close()
	}
	_ = os.Remove(f.path(holderExt))
	return errors.Join(err, f.lock.Close())
}

// Read reads a run without taking its lock: the snapshot and the journal as
// they are at the moment. Its error is ErrNotFound or *FileError.
func Read(dir, id string) (*Run, error) {
	// The journal is opened first: the run's owner may make a new snapshot in between, and put a
	// shorter one in its place. Then the steps that are read are in the snapshot, too.
	path := filepath.Join(dir, id+JournalExt)
	journal, _, journalErr := files.Open(path)
	if journalErr == nil {
		defer journal.Close()
	}
	r, err := readSnapshot(dir, id)
	switch {
	case err != nil:
		return nil, err
	case journalErr != nil:
		return r, within(path, ignoreMissing(journalErr))
	}
	return r, within(path, r.replay(journal))
}

func readSnapshot(dir, id string) (*Run, error) {
	path := filepath.Join(dir, id+".json")
	data, err := disk.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound(dir, id)
	}
	if err != nil {
		return nil, within(path, err)
	}
	r, err := Decode(data)
	if err == nil && r.WorkflowID != id {
		err = &FileError{Field: "workflow_id", What: fmt.Sprintf("is %q in the file of %q", r.WorkflowID, id)}
	}
	return r, within(path, err)
}

// within adds the path to a *FileError. The error of a file that is not regular, or too large, becomes one.
func within(path string, err error) error {
	switch {
	case errors.Is(err, files.ErrNotRegular):
		err = &FileError{What: "is not a regular file"}
	case errors.Is(err, files.ErrTooLarge):
		err = &FileError{What: fmt.Sprintf("has more than %d bytes", maxFile)}
	}
	var bad *FileError
	if errors.As(err, &bad) && bad.Path == "" {
		bad.Path = path
	}
	return err
}

// List returns the ids of all runs of a folder, sorted.
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
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && ValidID(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// WriteSnapshot replaces the snapshot with r. After it returns
// nil, {id}.json alone is complete and survives a crash of the machine; after
// an error the files hold either the old run or r, complete. d is the step that led to r, which
// is not in the journal; nil when r is not made by a step. ready, when not nil, is called before the
// old snapshot is replaced; when it returns an error that is kept.
func (f *File) WriteSnapshot(r *Run, d *Delta, ready func() error) error {
	data, err := r.Encode()
	if err == nil {
		err = checkSize(data)
	}
	if err == nil {
		err = f.note(r, d)
	}
	if err == nil {
		err = f.replace(f.path(".json"), data, ready)
	}
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	f.seq, f.entered, f.journal.unfolded, f.snapshot = r.Progress.Seq, true, 0, int64(len(data))
	if f.journal.size > f.most {
		return f.shorten(r)
	}
	return nil
}

// checkSize returns an error for data that is too large to be read again.
func checkSize(data []byte) error {
	if len(data) > maxFile {
		return fmt.Errorf("it has %d bytes, and more than %d are never read", len(data), maxFile)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tempExt is what is added to the name of a file that is being written.
const tempExt = ".tmp"

// replace gives a file other content, all of it or nothing. ready is as for Fold.
func (f *File) replace(path string, data []byte, ready func() error) (err error) {
	tmp := path + tempExt
	if err := ignoreMissing(disk.remove(tmp)); err != nil { // of a killed process, or a pipe of an agent's
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
	if err := f.seal.Replace(path, data); err != nil {
		return err
	}
	if err := disk.rename(tmp, path); err != nil {
		return err
	}
	return errors.Join(f.seal.Done(path), disk.syncDir(f.dir))
}
