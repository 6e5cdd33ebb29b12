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

// commandFiles are the variables that name the files by which a step speaks to
// its runner.
var commandFiles = []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", stateFile, summaryFile, "GITHUB_ARTIFACTS"}

const (
	outputFile  = "GITHUB_OUTPUT"
	stateFile   = "GITHUB_STATE"
	summaryFile = "GITHUB_STEP_SUMMARY"
)

// CommandFilePaths are the paths of the command files of a step.
func CommandFilePaths(getenv func(string) string) []string {
	var paths []string
	for _, name := range commandFiles {
		if path := getenv(name); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// maxCommandFile is how much of a command file is remembered, in bytes. The
// runner makes them empty for each step.
const maxCommandFile = 16 << 20

// Files are the command files of this step. Agents know where they are, so their right
// content is held in memory: every write replaces a file by that, and Verify restores
// what others have changed. Its methods may be called from several goroutines.
type Files struct {
	mu      sync.Mutex // guards all below
	files   map[string]*commandFile
	touched map[string]bool // changed by others, noticed while writing
}

// commandFile is one of the files, as it should be.
type commandFile struct {
	path   string
	now    content
	before []byte // what was in it at first
}

// content is what is at a path.
type content struct {
	info fs.FileInfo // nil: nothing
	data []byte
}

// GuardFiles remembers how the command files are. It is called before anything of a
// workflow runs. A file that can't be read is not guarded, and can't be written;
// the error names all of those.
func GuardFiles(getenv func(string) string) (*Files, error) {
	f := &Files{files: map[string]*commandFile{}, touched: map[string]bool{}}
	var errs []error
	for _, name := range commandFiles {
		path := getenv(name)
		if path == "" {
			continue
		}
		now, err := look(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("guard %s: %w", name, err))
			continue
		}
		f.files[name] = &commandFile{path: path, now: now, before: now.data}
	}
	return f, errors.Join(errs...)
}

// look reads what is at a path.
func look(path string) (content, error) {
	data, info, err := files.Read(path, maxCommandFile)
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, nil
	}
	return content{info, data}, err
}

// intact reports whether the file is as it should be.
func (c *commandFile) intact() bool {
	is, err := look(c.path)
	switch {
	case err != nil:
		return false
	case is.info == nil || c.now.info == nil:
		return is.info == nil && c.now.info == nil
	}
	return os.SameFile(is.info, c.now.info) && bytes.Equal(is.data, c.now.data)
}

// Verify compares the command files with what they should be, and puts each
// changed one back. It returns the variables of those that others have changed
// since Guard or the last Verify, and an error if one could not be
// restored. It is to be called when agents and scripts are gone.
func (f *Files) Verify() (changed []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, name := range commandFiles {
		c := f.files[name]
		if c == nil || c.intact() {
			continue
		}
		f.touched[name] = true
		if err := c.restore(); err != nil {
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

// restore removes what is at the path, which may be anything by now, and writes the
// file again.
func (c *commandFile) restore() error {
	if err := os.RemoveAll(c.path); err != nil {
		return err
	}
	if c.now.info == nil {
		return nil
	}
	return c.put(c.now.data)
}

// update makes data the content of a file, and notes it if others have changed
// the file before.
func (f *Files) update(name string, data func(*commandFile) []byte) error {
	c := f.files[name]
	if c == nil {
		return fmt.Errorf("%s names no file that can be written", name)
	}
	if !c.intact() {
		f.touched[name] = true
		_ = os.RemoveAll(c.path) // or else put says what is in the way
	}
	return c.put(data(c))
}

// newMode is the mode of a command file that was not there.
const newMode fs.FileMode = 0o644

// put makes data the content of the file. A new file is moved to its place, so
// that nothing is written through a link that somebody has put there.
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
