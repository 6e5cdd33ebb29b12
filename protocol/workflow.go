package protocol

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// Workflow is the states of a scope as they were when it was loaded. It never
// changes, whatever becomes of the files.
type Workflow struct {
	platform  Platform
	entry     string
	states    map[string]*State
	names     []string            // sorted
	byStem    map[string][]string // for resolving many targets among many names
	reachable []string            // sorted
}

// LoadOptions say how a scope is meant.
type LoadOptions struct {
	// Entry is the file name for a workflow that is started from a single file;
	// "" means the state 1_START or START.
	Entry    string
	Platform Platform
}

// Load reads the state files directly in the root of fsys, each once: any of
// them can be a target when the workflow runs. The Problems are those that
// forbid a start: of the entry, of the states that can be reached from it, and
// of every policy that is unmistakably ours. The Workflow is never nil; with
// Problems it serves inspection only, and resuming runs that stand elsewhere.
func Load(fsys fs.FS, o LoadOptions) (*Workflow, []Problem) {
	w := &Workflow{platform: o.Platform, states: map[string]*State{}}
	files, problem := stateFiles(fsys)
	if problem != nil {
		return w, []Problem{*problem}
	}
	w.setNames(files)
	w.read(fsys, files)
	w.entry, problem = w.findEntry(o.Entry)
	if problem != nil {
		return w, []Problem{*problem}
	}
	w.reachable = w.reach()
	return w, w.faults()
}

// stateFiles lists the files of the scope that have the extension of a state.
func stateFiles(fsys fs.FS) (map[string]fs.DirEntry, *Problem) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, &Problem{Code: "unreadable", Message: fmt.Sprintf("list the files of the workflow: %v", err)}
	}
	files := map[string]fs.DirEntry{}
	for _, e := range entries {
		if _, ext := splitName(e.Name()); ext != "" && !e.IsDir() {
			files[e.Name()] = e
		}
	}
	return files, nil
}

func (w *Workflow) setNames(files map[string]fs.DirEntry) {
	w.names = slices.Sorted(maps.Keys(files))
	w.byStem = map[string][]string{}
	for _, n := range w.names {
		w.byStem[Stem(n)] = append(w.byStem[Stem(n)], n)
	}
}

// read reads the files, and checks that what their policies name exists.
func (w *Workflow) read(fsys fs.FS, files map[string]fs.DirEntry) {
	for _, name := range w.names {
		w.states[name] = readState(fsys, files[name])
		w.checkPolicy(w.states[name])
	}
}

// findEntry returns the file that a run begins with.
func (w *Workflow) findEntry(file string) (string, *Problem) {
	if file != "" {
		if _, ext := splitName(file); ext == "" {
			return "", &Problem{Code: "entry", Message: quote(file) + " is not a state file",
				Hint: "state files end in .md, .sh, .bat or .ps1"}
		}
		return w.Resolve(file)
	}
	numbered, plain := w.byStem["1_START"], w.byStem["START"]
	switch {
	case len(numbered) > 0 && len(plain) > 0:
		return "", &Problem{Code: "entry", Message: "there are two entries: " + quoteAll(slices.Concat(numbered, plain)),
			Hint: "keep one of 1_START and START"}
	case len(numbered) > 0:
		return w.Resolve("1_START")
	case len(plain) > 0:
		return w.Resolve("START")
	case len(w.names) == 0:
		return "", &Problem{Code: "entry", Message: "there is no state file",
			Hint: "add a file 1_START.md or START.md"}
	}
	return "", &Problem{Code: "entry", Message: "there is no state 1_START or START; found " + quoteAll(w.names),
		Hint: "rename the first state, or start from its file"}
}

// checkPolicy notes the states that a policy names and that can't be had. The
// state of on_exhausted is resolved: no tag will ever be checked for it.
func (w *Workflow) checkPolicy(s *State) {
	for _, r := range s.References {
		if !r.Policy {
			continue
		}
		name, p := w.Resolve(r.Name)
		switch {
		case p != nil:
			s.fault(r.Pos, p.Code, "%s: %s", r.Part, p.Message).Hint = p.Hint
		case r.Part == "on_exhausted" && s.Policy.Convergence != nil:
			s.Policy.Convergence.OnExhausted = name
		}
	}
}

// faults returns what forbids a start.
func (w *Workflow) faults() []Problem {
	var problems []Problem
	for _, name := range w.names {
		for _, p := range w.states[name].Problems {
			if w.forbids(name, p) {
				problems = append(problems, p)
			}
		}
	}
	return problems
}

// forbids reports whether a problem of a state forbids a start. Where nothing
// leads to the state only a policy that is wrong does, when it is unmistakably
// ours: an agent may find such a state by itself.
func (w *Workflow) forbids(name string, p Problem) bool {
	s := w.states[name]
	return slices.Contains(w.reachable, name) || s.Owned && !slices.Contains(onlyWhereReached, p.Code)
}

// onlyWhereReached are the codes of problems that do no harm in a state that
// nothing leads to.
var onlyWhereReached = []string{"not-built", "empty"}

// reach returns the states that something leads to, from the entry on.
func (w *Workflow) reach() []string {
	found := map[string]bool{w.entry: true}
	for queue := []string{w.entry}; len(queue) > 0; queue = queue[1:] {
		for _, next := range w.successors(w.states[queue[0]]) {
			if !found[next] {
				found[next] = true
				queue = append(queue, next)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// successors returns the states that one may lead to. A name that is only known
// when the state runs may be any file that is meant as a state.
func (w *Workflow) successors(s *State) []string {
	var next []string
	dynamic := false
	for _, r := range s.References {
		if name, p := w.Resolve(r.Name); p == nil {
			next = append(next, name)
		}
		dynamic = dynamic || r.Dynamic
	}
	if !dynamic {
		return next
	}
	for _, name := range w.names {
		_, ext := splitName(name)
		if w.states[name].Marked && (suits[ext] == "" || suits[ext] == w.platform) {
			next = append(next, name)
		}
	}
	return next
}

// Entry returns the file name of the first state, "" when there is none.
func (w *Workflow) Entry() string { return w.entry }

// Platform returns the platform that targets are resolved for.
func (w *Workflow) Platform() Platform { return w.platform }

// State returns the state with a file name, as Resolve returns it. The State
// must not be changed.
func (w *Workflow) State(name string) (*State, bool) {
	s, ok := w.states[name]
	return s, ok
}

// Resolve returns the file name that a target means, by the same rules and with
// the same codes as the function Resolve.
func (w *Workflow) Resolve(target string) (string, *Problem) {
	name, problem := Resolve(w.byStem[Stem(target)], target, w.platform)
	if problem != nil && problem.Code == "no-state" {
		problem = noState(w.names, target)
	}
	return name, problem
}

// Names returns the file names of all states, sorted.
func (w *Workflow) Names() []string { return slices.Clone(w.names) }

// Hashes returns the SHA-256 of every state file that could be read, in hex.
func (w *Workflow) Hashes() map[string]string {
	sums := map[string]string{}
	for name, s := range w.states {
		if s.SHA256 != "" {
			sums[name] = s.SHA256
		}
	}
	return sums
}

// Reachable returns the file names of the states that the entry leads to,
// sorted: through the tags that a body or a script shows, through policies and
// through on_exhausted.
func (w *Workflow) Reachable() []string { return slices.Clone(w.reachable) }

// HasScripts reports whether a script can be reached.
func (w *Workflow) HasScripts() bool {
	return slices.ContainsFunc(w.reachable, func(name string) bool { return w.states[name].Kind == Script })
}
