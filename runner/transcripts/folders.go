package transcripts

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
)

// OpenOrCreateDir opens the directory names[0]/names[1]/… below top. It creates missing
// directories, one after the other. It returns an error if any of them, except top itself, is a
// symbolic link.
func OpenOrCreateDir(top string, names ...string) (*os.Root, error) {
	if err := os.MkdirAll(top, 0o700); err != nil {
		return nil, err
	}
	return openBelow(top, names, func(parent *os.Root, name string) (*os.Root, error) {
		if err := parent.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		return openChild(parent, name)
	})
}

// OpenDir opens the directory names[0]/names[1]/… below top. It returns an error if any of the
// directories, except top itself, is a symbolic link.
func OpenDir(top string, names ...string) (*os.Root, error) { return openBelow(top, names, openChild) }

// openBelow opens the directory top. It then calls step to open each name in the directory that was
// opened before.
func openBelow(top string, names []string, step func(*os.Root, string) (*os.Root, error)) (*os.Root, error) {
	at, err := os.OpenRoot(top)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		next, stepErr := step(at, name)
		_ = at.Close() // nothing was written through the closed directory
		at, err = next, stepErr
	}
	return at, err
}

// openChild opens a directory in a parent directory. It returns an error for a symbolic link.
func openChild(parent *os.Root, name string) (*os.Root, error) {
	info, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	odd := &fs.PathError{Op: "open", Path: filepath.Join(parent.Name(), name), Err: errors.New("not a directory")}
	if !info.IsDir() {
		return nil, odd
	}
	child, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	// A link may have replaced the directory after the call of Lstat.
	now, err := child.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = odd
	}
	if err != nil {
		return nil, errors.Join(err, child.Close())
	}
	return child, nil
}

// Install writes a file with mode 0600 into a directory. It replaces an existing file atomically:
// other processes see either the old or the complete new content.
func Install(folder *os.Root, name string, in io.Reader) error {
	tmp := "." + name + "." + rand.Text()
	out, err := folder.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Sync(), out.Close())
	if err == nil {
		err = folder.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, folder.Remove(tmp))
	}
	return nil
}

// Remove removes a regular file from a directory. If only is not nil and the file has another
// fingerprint, Remove keeps the file and returns true. It does nothing, and returns no error, if
// the file is missing or not a regular file.
func Remove(folder *os.Root, name string, only *runner.Fingerprint) (isOther bool, err error) {
	if info, err := folder.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	if only != nil {
		f, info, err := files.OpenIn(folder, name)
		if m, err := fingerprint(f, info, err, math.MaxInt64); err != nil || m.Size != only.Size || m.SHA256 != only.SHA256 || !m.Modified.Equal(only.Modified) {
			return true, nil
		}
	}
	if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, nil
}
