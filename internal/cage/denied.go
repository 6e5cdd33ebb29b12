package cage

import (
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxSearched is how many bytes of an output are searched.
const maxSearched = 16 << 10

var (
	denialPattern = text.Regexp(`(?i)permission denied|EACCES|read-only file system`)
	// A path ends at white space, which is rare in names, or at a quote.
	pathPattern = text.Regexp("/[^\\s'\"`‘’“”:,;()<>|]+")
)

// DeniedPath returns the absolute path of the file that was refused, according to a program's output. It
// examines the first line that reports a refusal and contains a path. It takes the last path before the report,
// else the first one after it. The result is "" if no line matches. A cage refuses files
// in the same way as file permissions, so only the program knows the path. The output is untrusted.
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
