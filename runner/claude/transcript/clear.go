package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Mark tells a file from another one of its name, and from what it becomes later.
type Mark struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256"` // in hex
}

// MarkOf returns the mark of a file.
func MarkOf(path string) (Mark, error) {
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return Mark{}, err
	}
	defer folder.Close()
	return markIn(folder, filepath.Base(path))
}

// markIn returns the mark of a file in a folder. An agent may have put a link or a
// pipe in its place.
func markIn(folder *os.Root, name string) (Mark, error) {
	odd := &os.PathError{Op: "open", Path: filepath.Join(folder.Name(), name), Err: errors.New("it is no regular file")}
	info, err := folder.Lstat(name)
	if err != nil {
		return Mark{}, err
	}
	if !info.Mode().IsRegular() {
		return Mark{}, odd
	}
	f, err := folder.OpenFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return Mark{}, err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return Mark{}, err
	}
	if !os.SameFile(info, now) {
		return Mark{}, odd
	}
	hash := sha256.New()
	n, err := io.Copy(hash, f)
	return Mark{n, now.ModTime().UTC(), hex.EncodeToString(hash.Sum(nil))}, err
}

// is reports whether two marks are of the same file.
func (m Mark) is(other Mark) bool {
	return m.Size == other.Size && m.SHA256 == other.SHA256 && m.Modified.Equal(other.Modified)
}

// Clear removes what the CLI keeps of a session: its transcript in the folder of
// any directory, and the folder of its name beside it, in which subagents and long
// outputs of tools are. With a mark it removes only a file of that mark, and leaves
// everything where there is another one. What is not there is no error, and what is
// neither a regular file nor a folder of its own is left alone.
func (d Folder) Clear(session string, only *Mark) error {
	if !isUUID(session) {
		return errors.New("clear session: its id is no UUID in lower case")
	}
	folders, err := d.folders()
	defer func() {
		for _, f := range folders {
			_ = f.Close() // nothing was written through it
		}
	}()
	if err != nil {
		return err
	}
	another := false
	for _, f := range folders {
		isOther, err := clearFile(f, session+".jsonl", only)
		if err != nil {
			return err
		}
		another = another || isOther
	}
	if another {
		return nil
	}
	for _, f := range folders {
		if info, err := f.Lstat(session); err == nil && info.IsDir() {
			if err := f.RemoveAll(session); err != nil {
				return err
			}
		}
	}
	return nil
}

// clearFile removes a session's file from a folder. With a mark it leaves a file that
// has another one, and says so.
func clearFile(folder *os.Root, name string, only *Mark) (isOther bool, err error) {
	if info, err := folder.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	if only != nil {
		if m, err := markIn(folder, name); err != nil || !m.is(*only) {
			return true, nil
		}
	}
	if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, nil
}

// folders opens the folders of the sessions of all directories. Links among them
// are passed over.
func (d Folder) folders() ([]*os.Root, error) {
	projects, err := d.projects()
	if err != nil {
		return nil, err
	}
	config, err := os.OpenRoot(filepath.Dir(projects))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer config.Close()
	top, err := open(config, filepath.Base(projects))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer top.Close()
	list, err := fs.ReadDir(top.FS(), ".")
	if err != nil {
		return nil, err
	}
	var out []*os.Root
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		if f, err := open(top, e.Name()); err == nil {
			out = append(out, f)
		}
	}
	return out, nil
}
