package job

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// commandFiles are the variables that name the runner's command files. A step sends commands to the
// runner by writing to these files.
var commandFiles = []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", stateFile, summaryFile, "GITHUB_ARTIFACTS"}

const (
	outputFile  = "GITHUB_OUTPUT"
	stateFile   = "GITHUB_STATE"
	summaryFile = "GITHUB_STEP_SUMMARY"
)

// CommandFilePaths returns the paths of the command files of a step.
func CommandFilePaths(getenv func(string) string) []string {
	var paths []string
	for _, name := range commandFiles {
		if path := getenv(name); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// maxCommandFile is the maximum size of a command file, in bytes. For each step, the runner creates new
// files, which are empty.
const maxCommandFile = 16 << 20

// Files are the command files of this step. Agents know their paths and may change them, so the correct
// content is kept in memory: every write replaces the file with that content, and Verify restores files
// that other processes have changed. The methods may be called concurrently.
type Files struct {
	mu      sync.Mutex // guards the fields below
	files   map[string]*commandFile
	touched map[string]bool // variables of files that a write found changed by other processes
}

// commandFile is a command file with the content that it should have.
type commandFile struct {
	path   string
	now    content
	before []byte // the content when GuardFiles was called
}

// content describes what exists at a path.
type content struct {
	info fs.FileInfo // nil if nothing exists
	data []byte
}

// GuardFiles records the current content of the command files. It must be called before any agent or
// script of the workflow runs. A file that can't be read is not guarded and can't be written later; the
// error names all these files.
func GuardFiles(getenv func(string) string) (*Files, error) {
	f := &Files{files: map[string]*commandFile{}, touched: map[string]bool{}}
	var errs []error
	for _, name := range commandFiles {
		path := getenv(name)
		if path == "" {
			continue
		}
		now, err := readContent(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("guard %s: %w", name, err))
			continue
		}
		f.files[name] = &commandFile{path: path, now: now, before: now.data}
	}
	return f, errors.Join(errs...)
}

// readContent reads the file at a path. If the file does not exist, it returns a zero content.
func readContent(path string) (content, error) {
	data, info, err := files.Read(path, maxCommandFile)
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, nil
	}
	return content{info, data}, err
}

// isIntact reports whether the same file still exists with the correct content.
func (c *commandFile) isIntact() bool {
	is, err := readContent(c.path)
	switch {
	case err != nil:
		return false
	case is.info == nil || c.now.info == nil:
		return is.info == nil && c.now.info == nil
	}
	return os.SameFile(is.info, c.now.info) && bytes.Equal(is.data, c.now.data)
}

// Verify compares the command files with their correct content and restores files that differ. It
// returns the variables of the files that other processes have changed since GuardFiles or the last
// Verify. It returns an error if a file could not be restored. Verify must be called after agents and
// scripts have ended.
func (f *Files) Verify() (changed []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, name := range commandFiles {
		c := f.files[name]
		if c == nil || c.isIntact() {
			continue
		}
		f.touched[name] = true
		err := os.RemoveAll(c.path)
		if err == nil && c.now.info != nil {
			err = c.put(c.now.data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("restore %s: %w", name, err))
		}
	}
	for name := range f.touched {
		changed = append(changed, name)
	}
	slices.Sort(changed)
	clear(f.touched)
	return changed, errors.Join(errs...)
}

// update sets the content of a file to the result of data. If other processes have changed the file, it
// records that for Verify.
func (f *Files) update(name string, data func(*commandFile) []byte) error {
	c := f.files[name]
	if c == nil {
		return fmt.Errorf("%s names no file that can be written", name)
	}
	if !c.isIntact() {
		f.touched[name] = true
		_ = os.RemoveAll(c.path) // if that fails, put returns an error
	}
	return c.put(data(c))
}

// newMode is the mode of a command file that did not exist before.
const newMode fs.FileMode = 0o644

// put makes data the content of the file. It writes a new file and renames it, so that it never writes
// through a link that another process has created at the path.
func (c *commandFile) put(data []byte) (err error) {
	mode := newMode
	if c.now.info != nil {
		mode = c.now.info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(c.path), ".raymond-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode))
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		return err
	}
	if err = files.Rename(f.Name(), c.path); err == nil {
		c.now = content{info, data}
	}
	return err
}
