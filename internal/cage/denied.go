package cage

import (
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxLook is how much of an output is looked through, in bytes.
const maxLook = 16 << 10

var (
	saysDenied = text.Regexp(`(?i)permission denied|EACCES|read-only file system`)
	// Blanks in names are rare, and quotes end names.
	absolute = text.Regexp("/[^\\s'\"`‘’“”:,;()<>|]+")
)

// DeniedPath returns the absolute path of the file that an output says was refused: the last
// one before the words that say so, else the first one after them, in the first line
// that has both. It returns "" where there is none. A cage refuses a
// file as file permissions do, and tells nobody but the program. The text may be anybody's.
func DeniedPath(output string) string {
	for line := range strings.Lines(output[:min(len(output), maxLook)]) {
		at := saysDenied().FindStringIndex(line)
		if at == nil {
			continue
		}
		if before := absolute().FindAllString(line[:at[0]], -1); len(before) > 0 {
			return before[len(before)-1]
		}
		if after := absolute().FindString(line[at[1]:]); after != "" {
			return after
		}
	}
	return ""
}
