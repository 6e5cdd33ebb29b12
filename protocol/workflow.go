package protocol

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Workflow contains the states in a folder as they were when the workflow was loaded. Later changes
// to the files don't affect it.
type Workflow struct {
	catalog       catalog
	entry         string
	states        map[string]*State
	meantAsStates []string // the files that look like states, sorted
	reachable     []string // the states that can be reached from the entry, in the order of Chart.States
	hasJoin       bool
	scope         scope
}

// scope is the folder from which a workflow is read.
type scope struct {
	fsys    fs.FS
	files   map[string]fs.DirEntry // the files in the folder, by name; subfolders are left out
	schemas map[string]string      // SHA-256, in hex, of each schema file that was read, by file name
}

// LoadOptions are the options for reading the files of a workflow.
type LoadOptions struct {
	// Entry is the file to start from, for a workflow that is a single file. If empty, the workflow
	// starts with the state 1_START or START.
	Entry    string
	Platform Platform
}

// Load reads every state file in the root of fsys once, because any of them can become a target
// when the workflow runs. The Problems prevent a run from starting. They are the problems of the
// entry, of all states that can be reached from it, and of every file whose frontmatter has a key
// that only this program uses. The Workflow is never nil. If there are Problems, it can only be
// inspected, or used to resume runs whose agents are in other states.
func Load(fsys fs.FS, o LoadOptions) (*Workflow, []Problem) {
	w := &Workflow{catalog: newCatalog(o.Platform, nil), states: map[string]*State{}, scope: scope{fsys, map[string]fs.DirEntry{}, map[string]string{}}}
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return w, []Problem{{Code: "unreadable", Message: fmt.Sprintf("list the files of the workflow: %v", err)}}
	}
	for _, e := range entries {
		if !e.IsDir() {
			w.scope.files[e.Name()] = e
		}
	}
	all := slices.Sorted(maps.Keys(w.scope.files))
	w.catalog = newCatalog(o.Platform, slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !IsStateFile(name) }))
	for _, name := range w.catalog.names {
		w.states[name] = w.scope.readState(w.scope.files[name])
		s := w.states[name]
		for _, r := range s.References {
			target, p := w.catalog.resolve(r.Name)
			switch {
			case p != nil:
				s.addProblem(r.Pos, p.Code, "%s: %s", r.Role, p.Message).Hint = p.Hint
			case r.Role == "on_exhausted" && s.Policy.Convergence != nil:
				s.Policy.Convergence.OnExhausted = target
			case r.Role == roleOnComment:
				s.OnComment = target
			}
		}
		w.hasJoin = w.hasJoin || w.states[name].mayJoin()
	}
	entry, problem := w.catalog.entry(o.Entry)
	if problem != nil {
		if other := otherStart(all); other != "" && o.Entry == "" {
			problem.Message = Quote(other) + " is not a state: states end in .md, .sh, .bat or .ps1"
			problem.Hint = `run it from one, such as a file 1_START.sh with the line exec "$RAYMOND_SCOPE/` + other + `"`
		}
		return w, []Problem{*problem}
	}
	w.entry = entry
	w.meantAsStates = slices.DeleteFunc(w.Names(), func(name string) bool { return !w.IsMeantAsState(name) })
	w.reachable = w.Chart().order
	var problems []Problem
	for _, name := range w.catalog.names {
		for _, p := range w.states[name].Problems {
			if w.ForbidsStart(name, p) {
				problems = append(problems, p)
			}
		}
	}
	return w, problems
}

// otherStart returns a file that has the name of a first state but not the extension of a state
// file. It returns "" if there is a first state, or if no file has that name.
func otherStart(all []string) (other string) {
	isStart := func(name string) bool { return Stem(name) == "1_START" || Stem(name) == "START" }
	for _, name := range all {
		switch {
		case isStart(name) && IsStateFile(name):
			return ""
		case isStart(strings.TrimSuffix(name, path.Ext(name))):
			other = name
		}
	}
	return other
}

// IsStateFile reports whether a file name has the extension of a state. The file need not exist.
func IsStateFile(name string) bool {
	_, ext := splitName(name)
	return ext != ""
}

// ForbidsStart reports whether a problem of a state prevents a run from starting. If the state can
// be reached from the entry, every problem does. Other states can prevent it only if their
// frontmatter has a key that only this program uses, because an agent may still name them. An
// empty file among them prevents nothing.
func (w *Workflow) ForbidsStart(name string, p Problem) bool {
	s := w.states[name]
	return slices.Contains(w.reachable, name) || s.Evidence.HasOwnKey && p.Code != "empty"
}

// documentation matches the names of files that are usually documentation. Such files may show
// tags without being states.
var documentation = pattern(
	`(?i)^(readme|changelog|contributing|licen[cs]e|notice|authors|security|todo|claude|agents|.*notes?)([ ._-].*)?$`)

// IsMeantAsState reports whether a file looks like a state, even if no other file names it.
func (w *Workflow) IsMeantAsState(name string) bool {
	return w.catalog.runs(name) && w.states[name].Evidence.HasMarker && !documentation().MatchString(Stem(name))
}

// Entry returns the file name of the first state, or "" if the workflow has no first state.
func (w *Workflow) Entry() string { return w.entry }

// State returns the state with this file name, which has the form that Resolve returns. Callers
// must not change the State.
func (w *Workflow) State(name string) (*State, bool) {
	s, ok := w.states[name]
	return s, ok
}

// Resolve returns the file name that a target means. A target with the extension of a state
// means that file; any other target means the prompt or script of that name that runs on the
// platform. The Problem has the code "bad-target", "no-state", "wrong-platform" or "ambiguous".
func (w *Workflow) Resolve(target string) (string, *Problem) { return w.catalog.resolve(target) }

// Names returns the file names of all states, sorted.
func (w *Workflow) Names() []string { return slices.Clone(w.catalog.names) }

// Hashes returns SHA-256 hashes in hex, by file name. It contains every readable state file, and the
// schema files that the states name.
func (w *Workflow) Hashes() map[string]string {
	sums := maps.Clone(w.scope.schemas)
	for name, s := range w.states {
		if s.SHA256 != "" {
			sums[name] = s.SHA256
		}
	}
	return sums
}

// HasScripts reports whether a script can be reached from the entry.
func (w *Workflow) HasScripts() bool {
	return slices.ContainsFunc(w.reachable, func(name string) bool { return w.states[name].Kind == Script })
}
