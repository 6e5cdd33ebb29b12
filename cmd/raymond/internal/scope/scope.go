// Package scope opens the directory, zip archive or state file that a workflow is started from. It
// checks the workflow, and creates the private copy that its scripts run from.
package scope

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/raymond-action/raymond-action/protocol"
)

// maxZip is the maximum size of a zipped workflow, in bytes.
const maxZip = 64 << 20

// Scope is an open directory, zip archive or state file that a workflow is started from.
type Scope struct {
	Path       string // the absolute path that the user named
	Entry      string // the state file that the user named; empty for a directory or an archive
	FS         fs.FS
	Workflow   *protocol.Workflow // nil until Load is called
	StartError error              // why the workflow can't start, an error of class workflow; nil if it can

	dir      string             // the absolute path of the directory of the files; empty for an archive
	problems []protocol.Problem // the problems in StartError
	partial  bool               // the directory couldn't be copied completely, so only state files are copied
	root     io.Closer
}

// Open opens the workflow at path. The error is of class usage if path can't be a workflow, and of class
// workflow if the workflow has no entry. Other problems don't prevent opening, because a resume needs
// only the states that its run has reached. StartCheck reports these problems.
func Open(path string) (*Scope, error) {
	s, err := Find(path)
	if err != nil {
		return nil, err
	}
	s.Load()
	if s.Workflow.Entry() == "" {
		s.Close()
		return nil, s.StartError
	}
	return s, nil
}

// Find is like Open, but doesn't read the state files: Workflow is nil until Load is called. An invalid
// archive is an error of class workflow.
func Find(path string) (*Scope, error) {
	if path == "" {
		return nil, problem.Usage("PATH", "is empty", "name a directory, a zip archive or a state file")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, problem.Usage("PATH", err.Error(), "")
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, problem.Usage("PATH", fmt.Sprintf("%q: there is no such file or directory: %s", path, abs), "name a directory, a zip archive or a state file")
	}
	s := &Scope{Path: abs}
	switch ext := strings.ToLower(filepath.Ext(abs)); {
	case info.IsDir():
		err = s.openDir(abs)
	case !info.Mode().IsRegular():
		err = problem.Usage("PATH", fmt.Sprintf("%q is not a regular file", path), "name a directory, a zip archive or a state file")
	case ext == ".zip":
		err = s.openZip(abs, info.Size())
	case protocol.IsStateFile(filepath.Base(abs)):
		s.Entry = filepath.Base(abs)
		err = s.openDir(filepath.Dir(abs))
	default:
		err = problem.Usage("PATH", fmt.Sprintf("%q is not a state file", path), "name a directory, a zip archive or a .md, .sh, .bat or .ps1 file")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openDir opens a directory. Links that point out of the directory can't be followed.
func (s *Scope) openDir(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	s.FS, s.dir, s.root = files.FS(root), dir, root
	return nil
}

// Close closes the directory. The files can't be read afterwards.
func (s *Scope) Close() {
	if s.root != nil {
		_ = s.root.Close() // nothing was written through it
	}
}

// openZip opens a zip archive and reads it into memory.
func (s *Scope) openZip(path string, size int64) error {
	if size > maxZip {
		return &problem.Problem{Class: problem.ClassWorkflow, Where: path, What: fmt.Sprintf("the archive has %d bytes, more than %d", size, maxZip)}
	}
	data, err := files.ReadTarget(path, maxZip)
	if err != nil {
		return err
	}
	fsys, problems := protocol.OpenZip(bytes.NewReader(data), int64(len(data)))
	s.FS = fsys
	return problem.OfWorkflow(path, problems)
}

// Load reads the state files and sets Workflow. It sets StartError to the problems in them.
func (s *Scope) Load() {
	s.Workflow, s.problems = protocol.Load(s.FS, s.loadOptions())
	s.StartError = problem.OfWorkflow(s.Path, s.problems)
}

// loadOptions returns the options for loading the workflow on this platform.
func (s *Scope) loadOptions() protocol.LoadOptions {
	return protocol.LoadOptions{Entry: s.Entry, Platform: Platform()}
}

// Platform returns the platform that this program runs on.
func Platform() protocol.Platform {
	if runtime.GOOS == "windows" {
		return protocol.Windows
	}
	return protocol.Unix
}

// HasScripts reports whether the workflow contains a script, which an agent could name in a transition.
func (s *Scope) HasScripts() bool {
	return s.has(nil, func(st *protocol.State) bool { return st.Kind == protocol.Script })
}

// NeedsCopy reports whether a private copy of the directory is needed, because scripts or a command that
// runs prompts could run from it.
func (s *Scope) NeedsCopy(hasCommand bool) bool { return hasCommand || s.HasScripts() }

// HasPrompts reports whether the workflow contains a prompt, which an agent could name in a transition.
// Every .md file counts as a prompt, even a README.md next to scripts. See LeadsToPrompt.
func (s *Scope) HasPrompts() bool { return s.HasPromptsOf(nil) }

// HasPromptsOf is like HasPrompts for states of the given jobs. A nil slice means all jobs.
func (s *Scope) HasPromptsOf(jobs []string) bool {
	return s.has(jobs, func(st *protocol.State) bool { return st.Kind == protocol.Prompt })
}

// HasUntrustedScripts reports whether the given jobs contain an untrusted script. A nil slice means all jobs.
func (s *Scope) HasUntrustedScripts(jobs []string) bool {
	return s.has(jobs, func(st *protocol.State) bool { return st.Kind == protocol.Script && !st.Trusted })
}

// HasTrustedScripts reports whether the given jobs contain a trusted script. A nil slice means all jobs.
func (s *Scope) HasTrustedScripts(jobs []string) bool {
	return s.has(jobs, func(st *protocol.State) bool { return st.Trusted })
}

// HasHandOver reports whether a script of the given jobs gets the agents' work. A nil slice means all jobs.
func (s *Scope) HasHandOver(jobs []string) bool {
	return s.has(jobs, func(st *protocol.State) bool { return st.Work })
}

// LeadsToPrompt reports whether the workflow's files show a way from the entry to a prompt. Unlike with
// HasPrompts, a README.md next to scripts counts only if a script names it. The result decides what users
// see by default. It must not decide what prompts require, because a script may name any file when it
// runs; HasPrompts is for that.
func (s *Scope) LeadsToPrompt() bool {
	return s.HasPrompts() && slices.ContainsFunc(s.Workflow.Chart().States(), func(name string) bool {
		st, ok := s.Workflow.State(name)
		return ok && st.Kind == protocol.Prompt
	})
}

// has reports whether the function is returns true for any state in the given jobs. A nil slice means all
// jobs.
func (s *Scope) has(jobs []string, is func(*protocol.State) bool) bool {
	return slices.ContainsFunc(s.Workflow.Names(), func(name string) bool {
		st, _ := s.Workflow.State(name)
		return is(st) && (jobs == nil || slices.Contains(jobs, s.Workflow.JobOf(name)))
	})
}

// JobsWithoutStates returns the jobs in the list to which no state of the workflow belongs.
func (s *Scope) JobsWithoutStates(jobs []string) []string {
	belongs := func(job string) bool {
		return slices.ContainsFunc(s.Workflow.Names(), func(name string) bool { return s.Workflow.JobOf(name) == job })
	}
	return slices.DeleteFunc(slices.Clone(jobs), belongs)
}

// Name returns the name of the workflow: its file or directory name without an extension. By default, the
// ids of its runs begin with this name.
func (s *Scope) Name() string {
	base := filepath.Base(s.Path)
	if s.Entry != "" || strings.EqualFold(filepath.Ext(base), ".zip") {
		return strings.TrimSuffix(base, filepath.Ext(base))
	}
	return base
}
