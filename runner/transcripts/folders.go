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

// OpenOrCreateDir opens a folder below that of a path, name by name, and makes what is missing. Only the
// path itself may be a link.
func OpenOrCreateDir(top string, names ...string) (*os.Root, error) {
	if err := os.MkdirAll(top, 0o700); err != nil {
		return nil, err
	}
	return below(top, names, func(parent *os.Root, name string) (*os.Root, error) {
		if err := parent.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		return open(parent, name)
	})
}

// OpenDir opens a folder below that of a path, name by name. Only the path itself may be a link.
func OpenDir(top string, names ...string) (*os.Root, error) { return below(top, names, open) }

func below(top string, names []string, step func(*os.Root, string) (*os.Root, error)) (*os.Root, error) {
	at, err := os.OpenRoot(top)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		next, oops := step(at, name)
		_ = at.Close() // nothing was written through it
		at, err = next, oops
	}
	return at, err
}

// open opens a folder in another one. Neither may be a link.
func open(parent *os.Root, name string) (*os.Root, error) {
	info, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	odd := &fs.PathError{Op: "open", Path: filepath.Join(parent.Name(), name), Err: errors.New("it is no folder of its own")}
	if !info.IsDir() {
		return nil, odd
	}
	child, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	// A link may have taken the folder's place since.
	now, err := child.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = odd
	}
	if err != nil {
		return nil, errors.Join(err, child.Close())
	}
	return child, nil
}

// Install puts a file into a folder, with mode 0600, and replaces one that is there. It is
// complete or not there at all.
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

// Remove removes a regular file from a folder. With a mark it leaves a file that has another
// one, and says so. What is not there, or no regular file, is left alone and is no error.
func Remove(folder *os.Root, name string, only *runner.Fingerprint) (isOther bool, err error) {
	if info, err := folder.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	if only != nil {
		f, info, err := files.OpenIn(folder, name)
		if m, err := markOf(f, info, err, math.MaxInt64); err != nil || m.Size != only.Size || m.SHA256 != only.SHA256 || !m.Modified.Equal(only.Modified) {
			return true, nil
		}
	}
	if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, nil
}
