// Package denied finds in the output of programs which file the system kept from them.
// A cage refuses a file as file permissions do, and tells nobody but the program.
package denied

import (
	"regexp"
	"strings"
	"sync"
)

// maxLook is how much of an output is looked through, in bytes.
const maxLook = 16 << 10

var (
	phrase = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)permission denied|EACCES|read-only file system`) })
	// Blanks in names are rare, and quotes end names.
	name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("/[^\\s'\"`‘’“”:,;()<>|]+") })
)

// Path returns the absolute path of the file that an output says was refused: the last
// one before the words that say so, else the first one after them, in the first line
// that has both. It returns "" where there is none. The text may be anybody's.
func Path(output string) string {
	for line := range strings.Lines(output[:min(len(output), maxLook)]) {
		at := phrase().FindStringIndex(line)
		if at == nil {
			continue
		}
		if before := name().FindAllString(line[:at[0]], -1); len(before) > 0 {
			return before[len(before)-1]
		}
		if after := name().FindString(line[at[1]:]); after != "" {
			return after
		}
	}
	return ""
}
