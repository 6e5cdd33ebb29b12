package protocol

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// suits has the platform for each extension of a state file, "" for any. An extension
// that is not here is part of a state's name.
var suits = map[string]Platform{".md": "", ".sh": Unix, ".bat": Windows, ".ps1": Windows}

// splitName splits a file name into the name of the state and its extension in
// lower case, which is "" when it is not one of a state file.
func splitName(file string) (stem, ext string) {
	dot := strings.LastIndexByte(file, '.')
	if dot <= 0 {
		return file, ""
	}
	ext = strings.ToLower(file[dot:])
	if _, known := suits[ext]; !known {
		return file, ""
	}
	return file[:dot], ext
}

// Stem returns the name of a state without the extension of its file.
func Stem(file string) string {
	stem, _ := splitName(file)
	return stem
}

// Resolve returns which of the file names a target means on a platform. A target with the
// extension of a state file means that file. Any other target means the one prompt or
// script of that name that can run on the platform. The Problem has the code "bad-target", "no-state", "wrong-platform" or "ambiguous".
func Resolve(names []string, target string, p Platform) (string, *Problem) {
	if problem := checkTarget(target); problem != nil {
		return "", problem
	}
	native, foreign := candidates(names, target, p)
	_, ext := splitName(target)
	switch {
	case ext != "" && slices.Contains(native, target):
		return target, nil
	case len(native) == 1:
		return native[0], nil
	case len(native) > 1:
		return "", &Problem{
			Code:    "ambiguous",
			Message: fmt.Sprintf("state %s is ambiguous: there are %s", quote(target), quoteAll(native)),
			Hint:    "name the file with its extension",
		}
	case len(foreign) > 0:
		return "", &Problem{
			Code:    "wrong-platform",
			Message: fmt.Sprintf("state %s can't run on %s: there is only %s", quote(target), p, quoteAll(foreign)),
		}
	}
	return "", noState(names, target)
}

// candidates returns the files that a target may mean, those that run on the
// platform and those that don't.
func candidates(names []string, target string, p Platform) (native, foreign []string) {
	stem, ext := splitName(target)
	for _, n := range names {
		s, e := splitName(n)
		if s != stem || e == "" || (ext != "" && e != ext) {
			continue
		}
		if suits[e] == "" || suits[e] == p {
			native = append(native, n)
		} else {
			foreign = append(foreign, n)
		}
	}
	return native, foreign
}

func noState(names []string, target string) *Problem {
	known := slices.Clone(names)
	if _, ext := splitName(target); ext == "" {
		for i, n := range known {
			known[i] = Stem(n)
		}
	}
	return &Problem{
		Code:    "no-state",
		Message: "there is no state " + quote(target),
		Hint:    didYouMean(target, known),
	}
}

// checkTarget says why a target can't be a file name.
func checkTarget(target string) *Problem {
	why := ""
	switch {
	case target == "":
		why = "it is empty"
	case target == "." || target == "..":
		why = "it is a folder"
	case strings.ContainsAny(target, `/\`):
		why = "it has a slash; states are named by file, not by path"
	case strings.ContainsFunc(target, unicode.IsControl):
		why = "it has a control character"
	default:
		return nil
	}
	return &Problem{Code: "bad-target", Message: fmt.Sprintf("%s is not the name of a state: %s", quote(target), why)}
}
