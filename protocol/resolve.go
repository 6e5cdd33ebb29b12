package protocol

import (
	"fmt"
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
	return &Problem{Code: "bad-target", Message: fmt.Sprintf("%s is not the name of a state: %s", Quote(target), why)}
}
