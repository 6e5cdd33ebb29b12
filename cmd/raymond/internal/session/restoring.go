package session

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
)

// restoring is a backend of scripts that first makes their private copy of the
// scope what it was when the run began. Agents have the rights to write there, and
// a script may have secrets that they don't get.
type restoring struct {
	runner.Backend
	dir   string
	files map[string]original // by path; folders among them
	mu    sync.Mutex          // for putting things back
}

// maxScopeFile is more than any file of a scope's copy has, in bytes.
const maxScopeFile = 1 << 30

// original is a file of the private copy, or a folder.
type original struct {
	mode fs.FileMode
	data []byte
}

// newRestoring remembers what the private copy holds now. dir may be "" where
// there is none.
func newRestoring(b runner.Backend, dir string) (*restoring, error) {
	r := &restoring{Backend: b, dir: dir, files: map[string]original{}}
	if dir == "" {
		return r, nil
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		o := original{mode: info.Mode()}
		if !d.IsDir() {
			o.data, _, err = files.Read(path, maxScopeFile)
		}
		r.files[path] = o
		return err
	})
	return r, err
}

// Run implements runner.Backend.
func (r *restoring) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	if err := r.restore(); err != nil {
		return runner.Answer{ExitCode: -1}, &runner.Failure{Class: runner.Machine, Message: "restore the copy of the workflow: " + err.Error()}
	}
	return r.Backend.Run(ctx, o, tell)
}

// restore is done by one at a time: nobody starts while another one restores.
func (r *restoring) restore() error {
	if r.dir == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, err := r.remove()
	if err == nil && kept == len(r.files) {
		return nil
	}
	return errors.Join(err, r.add())
}

// remove deletes what is not as it was, and returns how much is. What goes away meanwhile
// is no reason to leave the rest.
func (r *restoring) remove() (kept int, err error) {
	err = filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		was, known := r.files[path]
		if known && d.Type() == was.mode.Type() && was.isStill(path) {
			kept++
			return nil
		}
		if err := os.RemoveAll(path); err != nil || !d.IsDir() {
			return err
		}
		return fs.SkipDir
	})
	return kept, err
}

// isStill reports whether a file, or a folder that is one still, is as it was. A
// folder only needs its rights back.
func (o original) isStill(path string) bool {
	if o.mode.IsDir() {
		info, err := os.Lstat(path)
		return err == nil && (info.Mode() == o.mode || os.Chmod(path, o.mode.Perm()) == nil)
	}
	data, info, err := files.Read(path, int64(len(o.data)))
	return err == nil && info.Mode() == o.mode && bytes.Equal(data, o.data)
}

// add puts back what is missing.
func (r *restoring) add() error {
	var errs []error
	for path, o := range r.files {
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if o.mode.IsDir() {
			errs = append(errs, os.MkdirAll(path, o.mode.Perm()))
			continue
		}
		errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o700), files.WriteNew(path, o.data, o.mode.Perm()))
	}
	return errors.Join(errs...)
}
