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

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// Mark tells a file from another one of its name, and from what it becomes later.
type Mark struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256"` // in hex
}

// MarkOf returns the mark of a file.
func MarkOf(path string) (Mark, error) { return markOf(files.Open(path)) }

// markOf reads the rest of a file and closes it.
func markOf(f *os.File, info fs.FileInfo, err error) (Mark, error) {
	if err != nil {
		return Mark{}, err
	}
	defer f.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, f)
	return Mark{n, info.ModTime().UTC(), hex.EncodeToString(hash.Sum(nil))}, err
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
		if m, err := markOf(files.OpenIn(folder, name)); err != nil || !m.is(*only) {
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
