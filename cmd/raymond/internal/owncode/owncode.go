// Package owncode guards the files that the post part of a step will run: the
// action's JavaScript and action.yml, the program, and the sources of a program that
// is built from them. Agents may be able to write there, and the post part is started
// with the secrets of the job.
package owncode

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// Variable holds the folder of the action's JavaScript. The JavaScript itself sets
// it, so that no earlier step can; it is "" for a program that was started by hand.
const Variable = "RAYMOND_SHIM"

// Code is the action's own code, as it was when it was taken.
type Code struct {
	places  places
	program original
	running *os.File // the program, as it was started
	kept    map[string]original
}

// original is what was at a path.
type original struct {
	mode fs.FileMode
	size int64
	sum  [sha256.Size]byte
	data []byte // of a file; nil for the program, and for what is too large to be kept
	link string // of a link: its target
}

// Take remembers the code that belongs to a running program. shim is the folder of
// the JavaScript, "" where there is none. The caller closes the code. It is to be
// called before anything of a workflow runs.
func Take(program, shim string) (*Code, error) {
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, err
	}
	c := &Code{places: newPlaces(program, shim), kept: map[string]original{}}
	if c.running, _, err = files.Open(program); err != nil {
		return nil, err
	}
	if c.program, err = weigh(c.running); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	paths, err := c.places.list()
	for _, path := range paths {
		var o original
		if o, err = look(path); err != nil {
			break
		}
		c.kept[path] = o
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close releases what is held of the program.
func (c *Code) Close() error { return c.running.Close() }

// weigh returns what an open file is, but for its bytes.
func weigh(f *os.File) (original, error) {
	info, err := f.Stat()
	if err != nil {
		return original{}, err
	}
	h := sha256.New()
	size, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size()))
	return original{mode: info.Mode(), size: size, sum: [sha256.Size]byte(h.Sum(nil))}, err
}

// look returns what is at a path.
func look(path string) (original, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return original{}, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(path)
		return original{mode: info.Mode(), link: link}, err
	}
	f, _, err := files.Open(path)
	if err != nil {
		return original{}, err
	}
	defer f.Close()
	o, err := weigh(f)
	if err != nil || o.size > maxKept {
		return o, err
	}
	o.data = make([]byte, o.size)
	_, err = f.ReadAt(o.data, 0)
	return o, err
}

// maxKept is up to which size a file is kept, in bytes.
const maxKept = 4 << 20

// Changed names the files that are not what they were, those that are gone, and
// those that are new.
func (c *Code) Changed() []string {
	paths, err := c.places.list()
	var changed []string
	if err != nil {
		changed = append(changed, c.places.action) // not even a list can be had of it
	}
	for path, was := range c.kept {
		if !was.isStillAt(path) {
			changed = append(changed, path)
		}
	}
	for _, path := range paths {
		if _, ok := c.kept[path]; !ok {
			changed = append(changed, path)
		}
	}
	if !c.program.isStillAt(c.places.program) {
		changed = append(changed, c.places.program)
	}
	slices.Sort(changed)
	return slices.Compact(changed)
}

// isStillAt reports whether there is at a path what there was.
func (o original) isStillAt(path string) bool {
	if o.mode&fs.ModeSymlink != 0 {
		link, err := os.Readlink(path)
		return err == nil && link == o.link
	}
	f, info, err := files.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info.Size() != o.size { // it may have become endless
		return false
	}
	now, err := weigh(f)
	return err == nil && now.size == o.size && now.sum == o.sum
}

// PutBack makes files that have changed what they were, and removes those that are
// new. The error names what could not be put back.
func (c *Code) PutBack(changed []string) error {
	var errs []error
	for _, path := range changed {
		was, isKept := c.kept[path]
		switch {
		case path == c.places.program:
			errs = append(errs, c.putProgramBack())
		case isKept:
			errs = append(errs, was.putBack(path))
		case path == c.places.action:
			errs = append(errs, fmt.Errorf("%s: what is in it can't be listed", path))
		default:
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

// putBack makes a file or a link.
func (o original) putBack(path string) error {
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.RemoveAll(path)); err != nil {
		return err
	}
	switch {
	case o.mode&fs.ModeSymlink != 0:
		return os.Symlink(o.link, path)
	case o.data == nil:
		return fmt.Errorf("%s: is too large to be kept", path)
	}
	return write(path, o.mode, bytes.NewReader(o.data))
}

// putProgramBack copies the program that runs, which nobody can change, to where it
// was.
func (c *Code) putProgramBack() error {
	if err := errors.Join(os.MkdirAll(filepath.Dir(c.places.program), 0o755), os.RemoveAll(c.places.program)); err != nil {
		return err
	}
	return write(c.places.program, c.program.mode, io.NewSectionReader(c.running, 0, c.program.size))
}

// write makes a file that is not there.
func write(path string, mode fs.FileMode, from io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Chmod(mode.Perm()), f.Close())
}
