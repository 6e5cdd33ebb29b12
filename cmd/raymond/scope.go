package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol"
)

// maxZip bounds a zipped workflow, in bytes.
const maxZip = 64 << 20

// scope is where a workflow was started from, opened.
type scope struct {
	path     string // absolute: what the user named
	fsys     fs.FS
	entry    string // "" unless one file was named
	dir      string // the folder of the files, absolute; "" for an archive
	workflow *protocol.Workflow
	problems []protocol.Problem // what forbids a start
	faulty   error              // the same, as errors
	partial  bool               // the folder is too big: its state files alone are copied
	close    func()
}

// openScope reads the workflow at path. Its error is of class usage when path
// can't be one, of class workflow when it has no entry. What else forbids a start
// is for examine to say: a resume only needs the states that its run stands at.
func openScope(path string) (*scope, error) {
	s, err := findScope(path)
	if err != nil {
		return nil, err
	}
	s.load()
	if s.workflow.Entry() == "" {
		s.close()
		return nil, s.faulty
	}
	return s, nil
}

// findScope is openScope without a look at the state files: there is no workflow
// yet. An archive that can't be one is of class workflow already.
func findScope(path string) (*scope, error) {
	if path == "" {
		return nil, problem.Usage("PATH", "is empty", "name a directory, a zip archive or a state file")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, problem.Usage("PATH", err.Error(), "")
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, problem.Usage("PATH", fmt.Sprintf("%q: there is no such file or directory", path), "name a directory, a zip archive or a state file")
	}
	s := &scope{path: abs, close: func() {}}
	switch ext := strings.ToLower(filepath.Ext(abs)); {
	case info.IsDir():
		err = s.openDir(abs)
	case !info.Mode().IsRegular():
		err = problem.Usage("PATH", fmt.Sprintf("%q is no regular file", path), "name a directory, a zip archive or a state file")
	case ext == ".zip":
		err = s.openZip(abs, info.Size())
	case ext == ".md" || ext == ".sh" || ext == ".bat" || ext == ".ps1":
		s.entry = filepath.Base(abs)
		err = s.openDir(filepath.Dir(abs))
	default:
		err = problem.Usage("PATH", fmt.Sprintf("%q is no state file", path), "name a directory, a zip archive or a .md, .sh, .bat or .ps1 file")
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
	s.fsys, s.dir = root.FS(), dir
	s.close = func() { _ = root.Close() } // nothing was written through it
	return nil
}

func (s *scope) openZip(path string, size int64) error {
	if size > maxZip {
		return &problem.Problem{Class: problem.ClassWorkflow, Where: path, What: fmt.Sprintf("the archive has %d bytes, more than %d", size, maxZip)}
	}
	data, err := files.ReadTarget(path, maxZip)
	if err != nil {
		return err
	}
	fsys, problems := protocol.OpenZip(bytes.NewReader(data), int64(len(data)))
	s.fsys = fsys
	return problem.OfWorkflow(path, problems)
}

func (s *scope) load() {
	s.workflow, s.problems = protocol.Load(s.fsys, protocol.LoadOptions{Entry: s.entry, Platform: platform()})
	s.faulty = problem.OfWorkflow(s.path, s.problems)
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
