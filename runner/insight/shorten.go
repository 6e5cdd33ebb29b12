package insight

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// escapedSize returns the maximum number of bytes that a text takes in a page, where some
// characters are escaped.
func escapedSize(s string) int {
	n := len(s)
	for _, escaped := range []string{"<", ">", "&", `"`, "'", "+"} {
		n += 4 * strings.Count(s, escaped)
	}
	return n
}

// cutMiddle removes the middle of a text that takes more than most bytes when escaped. It also
// returns how many bytes it has removed.
func cutMiddle(s string, most int) (string, int64) {
	if len(s) <= most && escapedSize(s) <= most {
		return s, 0
	}
	most = max(0, most-40) // room for the note in place of the middle
	for room := most; ; room = room * 3 / 4 {
		head, tail := text.Prefix(s, room*2/3), text.Suffix(s, room/3)
		if escapedSize(head)+escapedSize(tail) <= most {
			out := len(s) - len(head) - len(tail)
			return fmt.Sprintf("%s\n[... %d bytes ...]\n%s", head, out, tail), int64(out)
		}
	}
}

// truncate shortens a text, and returns its escaped size.
func truncate(s *string, most int) int {
	*s = shorten(*s, most)
	return escapedSize(*s)
}

// shorten is like cutMiddle, without the number of bytes removed.
func shorten(s string, most int) string {
	s, _ = cutMiddle(s, most)
	return s
}
