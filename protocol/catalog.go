package protocol

import (
	"slices"
	"strings"
)

// catalog has the file names of a workflow's states, to find the one that a target
// means.
type catalog struct {
	platform Platform            // for which targets are resolved
	names    []string            // sorted
	byStem   map[string][]string // the same names, to look among few of them
}

func newCatalog(p Platform, names []string) catalog {
	c := catalog{platform: p, names: names, byStem: map[string][]string{}}
	for _, n := range names {
		c.byStem[Stem(n)] = append(c.byStem[Stem(n)], n)
	}
	return c
}

// resolve returns the file name that a target means, as the function Resolve.
func (c catalog) resolve(target string) (string, *Problem) {
	name, problem := Resolve(c.byStem[Stem(target)], target, c.platform)
	if problem != nil && problem.Code == "no-state" {
		problem = noState(c.names, target)
	}
	return name, problem
}

// find is resolve for many targets: it returns "" and says nothing when there is no
// such state.
func (c catalog) find(target string) string {
	target = strings.TrimSpace(target)
	name, _ := Resolve(c.byStem[Stem(target)], target, c.platform)
	return name
}

// same reports whether two targets mean the same state.
func (c catalog) same(a, b string) bool {
	one := c.find(a)
	return one != "" && one == c.find(b)
}

// runs reports whether a file can be run on the platform.
func (c catalog) runs(file string) bool {
	_, ext := splitName(file)
	return suits[ext] == "" || suits[ext] == c.platform
}

// entry returns the file that a run begins with.
func (c catalog) entry(file string) (string, *Problem) {
	if file != "" {
		if _, ext := splitName(file); ext == "" {
			return "", &Problem{Code: "entry", Message: quote(file) + " is not a state file",
				Hint: "state files end in .md, .sh, .bat or .ps1"}
		}
		return c.resolve(file)
	}
	numbered, plain := c.byStem["1_START"], c.byStem["START"]
	switch {
	case len(numbered) > 0 && len(plain) > 0:
		return "", &Problem{Code: "entry", Message: "there are two entries: " + quoteAll(slices.Concat(numbered, plain)),
			Hint: "keep one of 1_START and START"}
	case len(numbered) > 0:
		return c.resolve("1_START")
	case len(plain) > 0:
		return c.resolve("START")
	case len(c.names) == 0:
		return "", &Problem{Code: "entry", Message: "there is no state file",
			Hint: "add a file 1_START.md or START.md"}
	}
	return "", &Problem{Code: "entry", Message: "there is no state 1_START or START; found " + quoteAll(c.names),
		Hint: "rename the first state, or start from its file"}
}

// checkPolicy adds a problem for each state that the policy of s names and that can't be
// resolved. The states of on_exhausted and on_comment are replaced by their file names,
// because no tag will ever be checked for them.
func (c catalog) checkPolicy(s *State) {
	for _, r := range s.References {
		if !r.Policy {
			continue
		}
		name, p := c.resolve(r.Name)
		switch {
		case p != nil:
			s.addProblem(r.Pos, p.Code, "%s: %s", r.Part, p.Message).Hint = p.Hint
		case r.Part == "on_exhausted" && s.Policy.Convergence != nil:
			s.Policy.Convergence.OnExhausted = name
		case r.Part == partOnComment:
			s.OnComment = name
		}
	}
}
