package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
)

// maxZip bounds a zipped workflow, in bytes.
const maxZip = 64 << 20

// scope is where a workflow was started from, opened.
type scope struct {
	path     string // absolute: what the user named
	fsys     fs.FS
	entry    string // "" unless one file was named
	workflow *protocol.Workflow
	close    func()
}

// openScope reads the workflow at path. Its error is of class usage when path
// can't be one, of class workflow when its files are wrong.
func openScope(path string) (*scope, error) {
	s, err := findScope(path)
	if err != nil {
		return nil, err
	}
	return s, s.load()
}

// findScope is openScope without a look at the state files: there is no workflow
// yet. An archive that can't be one is of class workflow already.
func findScope(path string) (*scope, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, usage("PATH", err.Error(), "")
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, usage("PATH", fmt.Sprintf("%q: there is no such file or directory", path), "name a directory, a zip archive or a state file")
	}
	s := &scope{path: abs, close: func() {}}
	switch ext := strings.ToLower(filepath.Ext(abs)); {
	case info.IsDir():
		err = s.openDir(abs)
	case !info.Mode().IsRegular():
		err = usage("PATH", fmt.Sprintf("%q is no regular file", path), "name a directory, a zip archive or a state file")
	case ext == ".zip":
		err = s.openZip(abs, info.Size())
	case ext == ".md" || ext == ".sh" || ext == ".bat" || ext == ".ps1":
		s.entry = filepath.Base(abs)
		err = s.openDir(filepath.Dir(abs))
	default:
		err = usage("PATH", fmt.Sprintf("%q is no state file", path), "name a directory, a zip archive or a .md, .sh, .bat or .ps1 file")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openDir opens a folder so that no link leads out of it.
func (s *scope) openDir(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	s.fsys = root.FS()
	s.close = func() { _ = root.Close() } // nothing was written through it
	return nil
}

func (s *scope) openZip(path string, size int64) error {
	if size > maxZip {
		return &fault{class: classWorkflow, where: path, what: fmt.Sprintf("the archive has %d bytes, more than %d", size, maxZip)}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fsys, problems := protocol.OpenZip(bytes.NewReader(data), int64(len(data)))
	s.fsys = fsys
	return workflowFaults(path, problems)
}

func (s *scope) load() error {
	w, problems := protocol.Load(s.fsys, protocol.LoadOptions{Entry: s.entry, Platform: platform()})
	s.workflow = w
	return workflowFaults(s.path, problems)
}

// platform is the one that this program runs on.
func platform() protocol.Platform {
	if runtime.GOOS == "windows" {
		return protocol.Windows
	}
	return protocol.Unix
}

// hasScript reports whether there is a script that an agent could name.
func (s *scope) hasScript() bool {
	for _, name := range s.workflow.Names() {
		if st, _ := s.workflow.State(name); st.Kind == protocol.Script {
			return true
		}
	}
	return false
}

// name is the scope's own name, the source of workflow ids.
func (s *scope) name() string {
	base := filepath.Base(s.path)
	if s.entry != "" || strings.EqualFold(filepath.Ext(base), ".zip") {
		return strings.TrimSuffix(base, filepath.Ext(base))
	}
	return base
}

// Limits on the private copy of a scope folder: what a zipped workflow may hold.
const (
	maxScopeFiles = 1000
	maxScopeBytes = 64 << 20
)

// privateCopy makes dir a read-only copy of the scope folder, helper files
// included, so that an agent that edits the originals changes nothing. Folders
// of tools (.git, .raymond, node_modules) are left out.
func (s *scope) privateCopy(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	c := &copier{from: s.fsys, to: dir}
	return fs.WalkDir(s.fsys, ".", c.visit)
}

// freeze has later copies made of what the scope folder holds now: work that is
// put back may change the folder after the workflow was read. dir is for the
// files.
func (s *scope) freeze(dir string) error {
	if !s.hasScript() {
		return nil
	}
	if err := s.privateCopy(dir); err != nil && s.workflow.HasScripts() {
		return err
	} else if err != nil {
		s.fsys = os.DirFS(filepath.Join(dir, "none")) // nor can it be copied later
		return nil
	}
	s.fsys = os.DirFS(dir)
	return nil
}

// copier copies a tree within the limits.
type copier struct {
	from  fs.FS
	to    string
	files int
	bytes int64
}

func (c *copier) visit(name string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() {
		if base := d.Name(); base == ".git" || base == ".raymond" || base == "node_modules" {
			return fs.SkipDir
		}
		// Writable for us: what a killed run leaves must be easy to remove.
		return os.MkdirAll(filepath.Join(c.to, filepath.FromSlash(name)), 0o700)
	}
	info, err := fs.Stat(c.from, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil // a link that leads out of the scope, a pipe: no part of it
	}
	c.files++
	c.bytes += info.Size()
	if c.files > maxScopeFiles || c.bytes > maxScopeBytes {
		return &fault{class: classWorkflow, what: fmt.Sprintf("the workflow's folder holds more than %d files or %d MiB",
			maxScopeFiles, maxScopeBytes>>20), hint: "keep the workflow in a folder of its own"}
	}
	return c.copy(name, info.Mode().Perm()&0o555)
}

func (c *copier) copy(name string, perm fs.FileMode) error {
	in, err := c.from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(c.to, filepath.FromSlash(name)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm|0o400)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
