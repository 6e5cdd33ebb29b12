package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// catalog contains the file names of a workflow's states, and finds the file that a target means.
type catalog struct {
	platform Platform            // targets are resolved for this platform
	names    []string            // file names of all states, sorted
	byStem   map[string][]string // the same names, by state name without extension
}

// newCatalog returns a catalog of the given file names, which must be sorted.
func newCatalog(p Platform, names []string) catalog {
	c := catalog{platform: p, names: names, byStem: map[string][]string{}}
	for _, n := range names {
		c.byStem[Stem(n)] = append(c.byStem[Stem(n)], n)
	}
	return c
}

// resolve implements Workflow.Resolve.
func (c catalog) resolve(target string) (string, *Problem) {
	if problem := checkTarget(target); problem != nil {
		return "", problem
	}
	native, foreign := c.candidates(target)
	switch {
	case meantFile(native, target) != "":
		return meantFile(native, target), nil
	case len(native) > 1:
		return "", &Problem{
			Code:    "ambiguous",
			Message: fmt.Sprintf("state %s is ambiguous: there are %s", Quote(target), QuoteAll(native)),
			Hint:    "name the file with its extension",
		}
	case len(foreign) > 0:
		return "", &Problem{
			Code:    "wrong-platform",
			Message: fmt.Sprintf("state %s can't run on %s: there is only %s", Quote(target), c.platform, QuoteAll(foreign)),
		}
	}
	return "", c.noState(target)
}

// candidates returns the files that a target may mean. The platform can run the native files, but
// not the foreign ones.
func (c catalog) candidates(target string) (native, foreign []string) {
	stem, ext := splitName(target)
	for _, n := range c.byStem[stem] {
		switch _, e := splitName(n); {
		case e == "" || ext != "" && e != ext:
		case c.runs(n):
			native = append(native, n)
		default:
			foreign = append(foreign, n)
		}
	}
	return native, foreign
}

// meantFile returns the file that a target means among several files, or "" if that is not clear.
func meantFile(files []string, target string) string {
	_, ext := splitName(target)
	switch {
	case ext != "" && slices.Contains(files, target):
		return target
	case len(files) == 1:
		return files[0]
	}
	return ""
}

// noState returns the problem for a target that names no state. Its hint suggests a similar name.
func (c catalog) noState(target string) *Problem {
	known := slices.Clone(c.names)
	if _, ext := splitName(target); ext == "" {
		for i, n := range known {
			known[i] = Stem(n)
		}
	}
	hint := DidYouMean(target, known)
	if stem, isCmd := strings.CutSuffix(strings.ToLower(target), ".cmd"); isCmd {
		hint = "states end in .md, .sh, .bat or .ps1: rename it to " + target[:len(stem)] + ".bat"
	}
	return &Problem{Code: "no-state", Message: "there is no state " + Quote(target), Hint: hint}
}

// find returns the file that a target means. It returns "" if no file or more than one fits.
// Unlike resolve, it doesn't return a Problem.
func (c catalog) find(target string) string {
	target = strings.TrimSpace(target)
	if checkTarget(target) != nil {
		return ""
	}
	native, _ := c.candidates(target)
	return meantFile(native, target)
}

// same reports whether two targets mean the same existing state.
func (c catalog) same(a, b string) bool {
	one := c.find(a)
	return one != "" && one == c.find(b)
}

// runs reports whether the platform can run a file.
func (c catalog) runs(file string) bool {
	_, ext := splitName(file)
	return extensionPlatforms[ext] == "" || extensionPlatforms[ext] == c.platform
}

// entry returns the file of the first state: the given file or, if it is empty, the state 1_START
// or START.
func (c catalog) entry(file string) (string, *Problem) {
	if file != "" {
		if _, ext := splitName(file); ext == "" {
			return "", &Problem{Code: "entry", Message: Quote(file) + " is not a state file",
				Hint: "state files end in .md, .sh, .bat or .ps1"}
		}
		return c.resolve(file)
	}
	numbered, plain := c.byStem["1_START"], c.byStem["START"]
	switch {
	case len(numbered) > 0 && len(plain) > 0:
		return "", &Problem{Code: "entry", Message: "there are two entries: " + QuoteAll(slices.Concat(numbered, plain)),
			Hint: "keep one of 1_START and START"}
	case len(numbered) > 0:
		return c.resolve("1_START")
	case len(plain) > 0:
		return c.resolve("START")
	case len(c.names) == 0:
		return "", &Problem{Code: "entry", Message: "there is no state file",
			Hint: "add a file 1_START.md, 1_START.sh (on Windows 1_START.bat or 1_START.ps1)"}
	}
	return "", &Problem{Code: "entry", Message: "there is no state 1_START or START; found " + QuoteAll(c.names),
		Hint: "rename the first state, or start from its file"}
}
