package cage

import (
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxSearched is how many bytes of an output DeniedPath searches.
const maxSearched = 16 << 10

var (
	denialPattern = text.Regexp(`(?i)permission denied|EACCES|read-only file system`)
	// pathPattern matches a path up to a space, which is rare in file names, or a quote or punctuation mark.
	pathPattern = text.Regexp("/[^\\s'\"`‘’“”:,;()<>|]+")
)

// DeniedPath searches a program's output for the absolute path of the file to which access was denied. It
// uses the first line that contains both an error like "permission denied" and a path. If paths precede the
// error, it returns the last of them, otherwise the first one after it. It returns "" if no line matches. A
// cage denies access in the same way as file permissions do, so only the program's output contains the
// path. The output is untrusted.
func DeniedPath(output string) string {
	for line := range strings.Lines(output[:min(len(output), maxSearched)]) {
		at := denialPattern().FindStringIndex(line)
		if at == nil {
			continue
		}
		if before := pathPattern().FindAllString(line[:at[0]], -1); len(before) > 0 {
			return before[len(before)-1]
		}
		if after := pathPattern().FindString(line[at[1]:]); after != "" {
			return after
		}
	}
	return ""
}
