// Package files opens and reads files that an untrusted process may have replaced by anything: a link to
// another file, a pipe without a writer, a device, or a file of terabytes. It opens only regular files and
// never blocks on a pipe. Only functions with Target in their names follow links. This protects only the
// last element of a path. To protect the elements before it, use an os.Root.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
)

// ErrNotRegular means that the file at a path is not a regular file, or that the file was replaced while it
// was being opened.
var ErrNotRegular = errors.New("it is not a regular file")

// ErrTooLarge means that a file has more bytes than the caller allows.
var ErrTooLarge = errors.New("the file is too large")

// folder opens files by path. It is an *os.Root, or a machine for the whole file system.
type folder interface {
	Lstat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
}

// machine opens files in the whole file system. If follows is set, it follows links. That is safe only if
// the user or the CI runner chose the path.
type machine struct{ follows bool }

func (m machine) Lstat(name string) (fs.FileInfo, error) {
	if m.follows {
		return os.Stat(name)
	}
	return os.Lstat(name)
}

func (m machine) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if m.follows {
		flag &^= dontFollow
	}
	return os.OpenFile(name, flag, perm)
}

// Open opens a regular file for reading. The FileInfo describes the file that was opened.
func Open(path string) (*os.File, fs.FileInfo, error) {
	return open(machine{}, path, os.O_RDONLY, 0)
}

// OpenIn is like Open for a path in root, which the path can't leave.
func OpenIn(root *os.Root, path string) (*os.File, fs.FileInfo, error) {
	return open(root, path, os.O_RDONLY, 0)
}

// OpenFile opens a regular file like os.OpenFile. With os.O_CREATE, the file need not exist. With
// os.O_TRUNC, OpenFile truncates the file only after it has checked it.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	f, info, err := open(machine{}, path, flag&^os.O_TRUNC, perm)
	if err != nil || flag&os.O_TRUNC == 0 {
		return f, info, err
	}
	if err := f.Truncate(0); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// open opens a file and checks twice that it is regular. It checks before opening, because opening a device
// can have effects, and after opening, because the file may have been replaced between the two.
func open(from folder, path string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	before, err := from.Lstat(path)
	isNew := flag&os.O_CREATE != 0 && errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return nil, nil, err
	}
	if !isNew && !before.Mode().IsRegular() {
		return nil, nil, notRegular(path)
	}
	if !isNew {
		os.SameFile(before, before) // on Windows, the first comparison reads the identity of the file
	}
	f, err := from.OpenFile(path, flag|dontFollow|dontWait, perm)
	if err != nil {
		return nil, nil, err
	}
	now, err := f.Stat()
	if err == nil && (!now.Mode().IsRegular() || !isNew && !os.SameFile(before, now)) {
		err = notRegular(path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, now, nil
}

// notRegular returns an error with ErrNotRegular for a path.
func notRegular(path string) error {
	return &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
}

// Read returns the content of a regular file. If the file has more than most bytes, it returns ErrTooLarge.
// It never reads more than most+1 bytes.
func Read(path string, most int64) ([]byte, fs.FileInfo, error) {
	return readAll(machine{}, path, most)
}

// ReadTarget is like Read for a path that the user or the CI runner chose. The path may be a link to a
// regular file.
func ReadTarget(path string, most int64) ([]byte, error) {
	data, _, err := readAll(machine{follows: true}, path, most)
	return data, err
}

// readAll opens and reads a regular file of at most most bytes.
func readAll(from machine, path string, most int64) ([]byte, fs.FileInfo, error) {
	f, info, err := open(from, path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := readOpen(f, info, most)
	return data, info, err
}

// OpenTarget is like OpenFile for a path that the user or the CI runner chose. The path may be a link to a
// regular file. OpenTarget ignores os.O_TRUNC.
func OpenTarget(path string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	return open(machine{follows: true}, path, flag&^os.O_TRUNC, perm)
}

// Write replaces the content of a regular file or creates the file, like os.WriteFile.
func Write(path string, data []byte, perm fs.FileMode) error {
	return write(path, data, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
}

// WriteNew is like Write, but if the file exists already, it returns an error.
func WriteNew(path string, data []byte, perm fs.FileMode) error {
	return write(path, data, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// write opens a regular file with the given flags and writes data.
func write(path string, data []byte, flag int, perm fs.FileMode) error {
	f, _, err := OpenFile(path, flag, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Rename is like os.Rename. Windows can't rename a file while another process has the file or the target
// open, so Rename retries there for two seconds.
func Rename(from, to string) error {
	return retryWhileOpen(runtime.GOOS, func() error { return os.Rename(from, to) }, func() { time.Sleep(20 * time.Millisecond) })
}

// retryWhileOpen calls rename again, after a pause, as long as Windows reports that a file is open.
func retryWhileOpen(system string, rename func() error, pause func()) error {
	const denied, shared = syscall.Errno(5), syscall.Errno(32) // Windows error codes
	err := rename()
	for range 100 {
		if system != "windows" || !errors.Is(err, denied) && !errors.Is(err, shared) {
			break
		}
		pause()
		err = rename()
	}
	return err
}

// readOpen reads an open file to its end. The file may grow while it is read.
func readOpen(f *os.File, info fs.FileInfo, most int64) ([]byte, error) {
	var data bytes.Buffer
	if info.Size() <= most {
		data.Grow(int(info.Size()) + bytes.MinRead)
		if _, err := data.ReadFrom(io.LimitReader(f, most+1)); err != nil {
			return nil, err
		}
	}
	if info.Size() > most || int64(data.Len()) > most {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, most)}
	}
	return data.Bytes(), nil
}
