package scope

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// The limits for copying a workflow's directory.
const (
	maxScopeFiles = 1000
	maxScopeBytes = 64 << 20
)

// PrivateCopy copies the workflow's directory to dir, replacing dir. Scripts run from this copy, whose
// files are read-only, so that an agent that edits the originals changes nothing. Directories of tools
// (.git, .raymond, node_modules) are not copied.
//
// A workflow that is a single state file may be in any directory, even in a very large directory. If that
// directory can't be copied completely, only its state files are copied.
func (s *Scope) PrivateCopy(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	c := &copier{Scope: s, to: dir, skip: []string{filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))}}
	err := error(nil)
	if !s.partial {
		err = fs.WalkDir(s.FS, ".", c.visit)
	}
	if s.Entry == "" || err == nil && !s.partial {
		return err
	}
	s.partial = true
	err = errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700))
	for _, name := range s.Workflow.Names() {
		info, statErr := fs.Stat(s.FS, name)
		if st, _ := s.Workflow.State(name); err == nil && statErr == nil && st.SHA256 != "" { // Load could read the state file
			err = c.copy(name, info.Mode().Perm()&0o555)
		}
	}
	return err
}

// PartialCopyNote returns a note for the user if only state files were copied. Otherwise it returns "".
func (s *Scope) PartialCopyNote() string {
	if !s.partial {
		return ""
	}
	return fmt.Sprintf("the directory of %s has more than %d files or %d MiB, or can't be read completely; "+
		"scripts run from a copy of the state files only", s.Path, maxScopeFiles, maxScopeBytes>>20)
}

// Freeze copies the workflow's directory to dir and makes later private copies from that copy. It is
// needed because restored work may change the directory after the workflow was read. hasCommand is true
// if a command runs prompts.
func (s *Scope) Freeze(dir string, hasCommand bool) error {
	if !s.NeedsCopy(hasCommand) {
		return nil
	}
	if err := s.PrivateCopy(dir); err != nil && s.Workflow.HasScripts() {
		return err
	} else if err != nil {
		s.FS = os.DirFS(filepath.Join(dir, "none")) // this directory doesn't exist, so later copies fail too
		return nil
	}
	s.FS = os.DirFS(dir)
	return nil
}

// copier copies a directory tree. It fails if the tree exceeds the limits.
type copier struct {
	*Scope
	to             string
	skip           []string // directories of run files, which are not part of a workflow
	files, folders int
	bytes          int64
}

// visit copies one file, or creates one directory. It is called by fs.WalkDir.
func (c *copier) visit(name string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() {
		if base := d.Name(); base == ".git" || base == ".raymond" || base == "node_modules" || name != "." && slices.Contains(c.skip, filepath.Join(c.dir, filepath.FromSlash(name))) {
			return fs.SkipDir
		}
		if c.folders++; c.folders > maxScopeFiles {
			return c.tooLarge()
		}
		// The directories are writable, so that they can easily be removed after the run was killed.
		return os.MkdirAll(filepath.Join(c.to, filepath.FromSlash(name)), 0o700)
	}
	info, err := fs.Stat(c.FS, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil // a link that points out of the directory, or a pipe
	}
	c.files++
	c.bytes += info.Size()
	if c.files > maxScopeFiles || c.bytes > maxScopeBytes {
		return c.tooLarge()
	}
	return c.copy(name, info.Mode().Perm()&0o555)
}

// tooLarge returns the error for a directory that exceeds the limits.
func (c *copier) tooLarge() error {
	return &problem.Problem{Class: problem.ClassWorkflow, Where: c.Path, What: fmt.Sprintf("the workflow's directory has more than %d files or %d MiB",
		maxScopeFiles, maxScopeBytes>>20), Hint: "move the workflow to its own directory"}
}

// copy copies one file and makes the copy readable by its owner.
func (c *copier) copy(name string, perm fs.FileMode) error {
	in, err := c.FS.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxScopeBytes+1))
	if len(data) > maxScopeBytes { // the file has grown since its size was checked
		err = c.tooLarge()
	}
	if err != nil {
		return err
	}
	// Bash and cmd.exe read a byte order mark as part of the first command. PowerShell needs the mark.
	if ext := strings.ToLower(filepath.Ext(name)); ext == ".sh" || ext == ".bat" {
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
	}
	return files.WriteNew(filepath.Join(c.to, filepath.FromSlash(name)), data, perm|0o400)
}
