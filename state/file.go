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

// ErrExists says that there is already a run with that id.
var ErrExists = errors.New("a run of that id exists")

// File keeps one Run: a snapshot ({id}.json) and beside it a journal of the
// steps since then. It holds the run's lock from Create or Open until Close.
// It is not safe for concurrent use; the owner of the run is its only user.
type File struct {
	dir, id  string
	lock     *flock.Flock
	journal  opened
	size     int64 // of the journal
	snapshot int64 // bytes of the snapshot
	folded   int   // its step; 0 when there is none
	seal     Seal
	history  *history
}

// Seal is told of each change of the files before it is made, and after it. An error
// prevents the change. Paths are those of the files.
type Seal interface {
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

// SetSeal says who is told of changes. It is for before the first one.
func (f *File) SetSeal(s Seal) { f.seal, f.history.seal = s, s }

// SetHistory says how many bytes of the run's history are kept; 0: none. It is for before the
// first change. Without it DefaultHistory is kept.
func (f *File) SetHistory(most int64) { f.history.most = most }

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
	return f, nil
}

// Open takes the lock of an existing run and reads it. It fails with
// ErrNotFound, *LockedError or *FileError, and leaves the files as they were.
func Open(dir, id, holder string) (*File, *Run, error) {
	if _, err := os.Stat(filepath.Join(dir, id+".json")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%q in %s: %w", id, dir, ErrNotFound)
	}
	f, err := acquire(dir, id, holder)
	if err != nil {
		return nil, nil, err
	}
	r, lines, err := readSaved(dir, id)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	f.folded = r.Progress.Seq
	if err := within(f.path(".journal"), replay(r, lines)); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, r, nil
}

func acquire(dir, id, holder string) (*File, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	f := &File{dir: dir, id: id, seal: unsealed{}}
	f.history = &history{path: f.path(HistoryExt), journal: f.path(".journal"), most: DefaultHistory, seal: unsealed{}}
	if err := f.take(holder); err != nil {
		return nil, err
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
	if f.journal != nil {
		err = f.journal.Close()
	}
	return errors.Join(err, f.history.close(), f.release())
}

// Read reads a run without taking its lock: the snapshot and the journal as
// they are at the moment. Its error is ErrNotFound or *FileError.
func Read(dir, id string) (*Run, error) {
	r, lines, err := readSaved(dir, id)
	if err != nil {
		return nil, err
	}
	return r, within(filepath.Join(dir, id+".journal"), replay(r, lines))
}

// readSaved reads the snapshot of a run, and the journal, whose steps come after it. Its error
// is ErrNotFound or *FileError.
func readSaved(dir, id string) (*Run, []byte, error) {
	// The journal comes first: the run's owner may make a new snapshot in between and empty it.
	// Then the steps that were read are in the snapshot, too.
	lines, journalErr := disk.read(filepath.Join(dir, id+".journal"))
	r, err := readSnapshot(dir, id)
	if err == nil {
		err = ignoreMissing(journalErr)
	}
	if err != nil {
		return nil, nil, err
	}
	return r, lines, nil
}

func readSnapshot(dir, id string) (*Run, error) {
	path := filepath.Join(dir, id+".json")
	data, err := disk.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q in %s: %w", id, dir, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	r, err := Decode(data)
	if err == nil && r.WorkflowID != id {
		err = &FileError{Field: "workflow_id", What: fmt.Sprintf("is %q in the file of %q", r.WorkflowID, id)}
	}
	return r, within(path, err)
}

// within names the file in a *FileError.
func within(path string, err error) error {
	var bad *FileError
	if errors.As(err, &bad) && bad.Path == "" {
		bad.Path = path
	}
	return err
}

// readBounded reads a regular file of at most maxFile bytes.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &FileError{Path: path, What: "is not a regular file"}
	case info.Size() > maxFile:
		return nil, &FileError{Path: path, What: fmt.Sprintf("has %d bytes, more than %d", info.Size(), maxFile)}
	}
	return files.ReadTarget(path, maxFile)
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

// Fold replaces the snapshot with r and empties the journal. After it returns
// nil, {id}.json alone is complete and survives a crash of the machine; after
// an error the files hold either the old run or r, complete. d is the step that led to r, which
// is not in the journal; nil when r is not made by a step. ready, when not nil, is called before the old snapshot and
// the journal are replaced; when it returns an error they are kept.
func (f *File) Fold(r *Run, d *Delta, ready func() error) error {
	past := f.remember(r, d)
	data, err := r.Encode()
	if err != nil {
		past()
		return fmt.Errorf("encode state: %w", err)
	}
	err = f.replace(data, func() error {
		past()
		if ready == nil {
			return nil
		}
		return ready()
	})
	if err != nil {
		past()
		return fmt.Errorf("save state: %w", err)
	}
	f.snapshot, f.folded = int64(len(data)), r.Progress.Seq
	return f.dropJournal(r.Progress.Status != Running)
}

// remember adds the steps up to r to the history, side by side with what the caller does until
// it calls what remember returns, which waits for that.
func (f *File) remember(r *Run, d *Delta) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.history.fold(r, d, f.folded) // what is missing in it is told when it is read
	}()
	return func() { <-done }
}

// dropJournal empties the journal, whose steps are in the snapshot by now and would be
// skipped. When the run has stopped it removes the file.
func (f *File) dropJournal(stopped bool) error {
	if err := f.seal.Replace(f.path(".journal"), nil); err != nil {
		return err
	}
	if err := f.emptyJournal(stopped); err != nil {
		return err
	}
	return f.seal.Done(f.path(".journal"))
}

func (f *File) emptyJournal(stopped bool) error {
	f.size = 0
	if f.journal == nil && !stopped {
		w, err := disk.open(f.path(".journal"), os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return ignoreMissing(err)
		}
		return w.Close()
	}
	if !stopped {
		return f.journal.Truncate(0)
	}
	if f.journal != nil {
		f.journal.Close()
		f.journal = nil
	}
	return ignoreMissing(disk.remove(f.path(".journal")))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f *File) replace(data []byte, ready func() error) (err error) {
	tmp := f.path(".json.tmp")
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
	if err := writeSync(w, data); err != nil {
		return errors.Join(err, w.Close())
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	if err := f.seal.Replace(f.path(".json"), data); err != nil {
		return err
	}
	if err := disk.rename(tmp, f.path(".json")); err != nil {
		return err
	}
	return errors.Join(f.seal.Done(f.path(".json")), disk.syncDir(f.dir))
}

func writeSync(w opened, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Sync()
}
