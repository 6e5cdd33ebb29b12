// Package files opens and reads files in whose place somebody else may have put
// anything: a link to another file, a pipe that nobody writes to, a device, or far
// more bytes than expected. It opens regular files only, never waits for the other end
// of a pipe, and follows no link, unless a name says otherwise. Only the last element
// of a path is guarded in this way; os.Root guards the ones before it.
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

// ErrNotRegular says that what is at a path is no regular file, or not the one that
// was there a moment before.
var ErrNotRegular = errors.New("it is no regular file")

// ErrTooLarge says that a file has more bytes than the reader allows.
var ErrTooLarge = errors.New("it is too large")

// folder is where a path begins: an *os.Root, or the machine.
type folder interface {
	Lstat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
}

// machine follows the links of paths that the user or the CI runner names.
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

// Open opens a regular file for reading. The information is that of the open file.
func Open(path string) (*os.File, fs.FileInfo, error) {
	return open(machine{}, path, os.O_RDONLY, 0)
}

// OpenIn is Open for a file in a folder, out of which no part of the path leads.
func OpenIn(root *os.Root, path string) (*os.File, fs.FileInfo, error) {
	return open(root, path, os.O_RDONLY, 0)
}

// OpenFile opens a regular file as os.OpenFile does. With os.O_CREATE the file may be
// missing; os.O_TRUNC never empties another file than the one that was seen at path.
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

// open looks before it opens, because opening a device can have effects, and
// afterwards, because something else may have taken the file's place in between.
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
		os.SameFile(before, before) // Windows reads what a file is known by when it is first compared
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

func notRegular(path string) error {
	return &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
}

// Read returns what a regular file of at most most bytes holds. A larger one is an
// error, and no more than most bytes and one of it are ever held in memory.
func Read(path string, most int64) ([]byte, fs.FileInfo, error) {
	return readAll(machine{}, path, most)
}

// ReadTarget is Read for a path that the user or the CI runner names, and that may be
// a link to a regular file.
func ReadTarget(path string, most int64) ([]byte, error) {
	data, _, err := readAll(machine{follows: true}, path, most)
	return data, err
}

func readAll(from machine, path string, most int64) ([]byte, fs.FileInfo, error) {
	f, info, err := open(from, path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := readOpen(f, info, most)
	return data, info, err
}

// OpenTarget is OpenFile for a path that the user or the CI runner names, and that may
// be a link to a regular file. It does not know os.O_TRUNC.
func OpenTarget(path string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	return open(machine{follows: true}, path, flag&^os.O_TRUNC, perm)
}

// Write makes a regular file hold data, as os.WriteFile does.
func Write(path string, data []byte, perm fs.FileMode) error {
	return write(path, data, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
}

// WriteNew is Write for a file that must not be there yet.
func WriteNew(path string, data []byte, perm fs.FileMode) error {
	return write(path, data, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

func write(path string, data []byte, flag int, perm fs.FileMode) error {
	f, _, err := OpenFile(path, flag, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Rename is os.Rename. Windows refuses it while somebody has one of the files open, as a reader has for a moment: it is
// tried again then, for two seconds.
func Rename(from, to string) error {
	return untilFree(runtime.GOOS, func() error { return os.Rename(from, to) }, func() { time.Sleep(20 * time.Millisecond) })
}

func untilFree(system string, rename func() error, pause func()) error {
	const denied, shared = syscall.Errno(5), syscall.Errno(32) // as Windows numbers them
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

// readOpen reads to the end of a file, which may be growing.
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
