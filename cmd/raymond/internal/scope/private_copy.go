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

// Limits on the private copy of a scope folder: what a zipped workflow may hold.
const (
	maxScopeFiles = 1000
	maxScopeBytes = 64 << 20
)

// PrivateCopy makes dir a read-only copy of the scope folder, helper files
// included, so that an agent that edits the originals changes nothing. Folders
// of tools (.git, .raymond, node_modules) are left out.
//
// A run that began with a file may have begun anywhere: where the folder can't be
// copied whole, its state files alone are.
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
	return errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700), s.copyStates(c))
}

// copyStates copies the state files alone.
func (s *Scope) copyStates(c *copier) error {
	for _, name := range s.Workflow.Names() {
		info, err := fs.Stat(s.FS, name)
		if st, _ := s.Workflow.State(name); err != nil || st.SHA256 == "" {
			continue // it could not be read before either
		}
		if err := c.copy(name, info.Mode().Perm()&0o555); err != nil {
			return err
		}
	}
	return nil
}

// PartialCopyNote says that scripts lack the other files of their folder; "" where they
// don't.
func (s *Scope) PartialCopyNote() string {
	if !s.partial {
		return ""
	}
	return fmt.Sprintf("the folder of %s holds more than %d files or %d MiB, or can't be read whole; "+
		"scripts run from a copy of its state files alone", s.Path, maxScopeFiles, maxScopeBytes>>20)
}

// Freeze has later copies made of what the scope folder holds now: work that is
// put back may change the folder after the workflow was read. dir is for the
// files; hasCommand says that a command runs prompts.
func (s *Scope) Freeze(dir string, hasCommand bool) error {
	if !s.NeedsCopy(hasCommand) {
		return nil
	}
	if err := s.PrivateCopy(dir); err != nil && s.Workflow.HasScripts() {
		return err
	} else if err != nil {
		s.FS = os.DirFS(filepath.Join(dir, "none")) // nor can it be copied later
		return nil
	}
	s.FS = os.DirFS(dir)
	return nil
}

// copier copies a tree within the limits.
type copier struct {
	*Scope
	to             string
	skip           []string // folders in which runs keep things: no part of a workflow
	files, folders int
	bytes          int64
}

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
		// Writable for us: what a killed run leaves must be easy to remove.
		return os.MkdirAll(filepath.Join(c.to, filepath.FromSlash(name)), 0o700)
	}
	info, err := fs.Stat(c.FS, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil // a link that leads out of the scope, a pipe: no part of it
	}
	c.files++
	c.bytes += info.Size()
	if c.files > maxScopeFiles || c.bytes > maxScopeBytes {
		return c.tooLarge()
	}
	return c.copy(name, info.Mode().Perm()&0o555)
}

func (c *copier) tooLarge() error {
	return &problem.Problem{Class: problem.ClassWorkflow, Where: c.Path, What: fmt.Sprintf("the workflow's folder holds more than %d files or %d MiB",
		maxScopeFiles, maxScopeBytes>>20), Hint: "keep the workflow in a folder of its own"}
}

func (c *copier) copy(name string, perm fs.FileMode) error {
	in, err := c.FS.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxScopeBytes+1))
	if len(data) > maxScopeBytes { // it has grown since it was weighed
		err = c.tooLarge()
	}
	if err != nil {
		return err
	}
	// Bash and cmd.exe take a byte order mark for a part of the first command. PowerShell needs it.
	if ext := strings.ToLower(filepath.Ext(name)); ext == ".sh" || ext == ".bat" {
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
	}
	return files.WriteNew(filepath.Join(c.to, filepath.FromSlash(name)), data, perm|0o400)
}
