package protocol

import (
	"fmt"
	"strings"
	"unicode"
)

// extensionPlatforms maps the extension of a state file to the platform that can run the file, or
// to "" if every platform can. Any other extension is part of the state's name.
var extensionPlatforms = map[string]Platform{".md": "", ".sh": Unix, ".bat": Windows, ".ps1": Windows}

// splitName splits a file name into the state's name and its extension in lower case. ext is ""
// if the file doesn't have the extension of a state file.
func splitName(file string) (stem, ext string) {
	dot := strings.LastIndexByte(file, '.')
	if dot <= 0 {
		return file, ""
	}
	ext = strings.ToLower(file[dot:])
	if _, known := extensionPlatforms[ext]; !known {
		return file, ""
	}
	return file[:dot], ext
}

// Stem returns a file name without the extension of a state file.
func Stem(file string) string {
	stem, _ := splitName(file)
	return stem
}

// checkTarget returns a problem if a target can't be the name of a file, else nil.
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
