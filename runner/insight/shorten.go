package insight

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// escapedSize returns how many bytes a text takes at most in a page. There, some characters are
// escaped.
func escapedSize(s string) int {
	n := len(s)
	for _, escaped := range []string{"<", ">", "&", `"`, "'", "+"} {
		n += 4 * strings.Count(s, escaped)
	}
	return n
}

// cutMiddle replaces the middle of a text with a note if the size of the escaped text exceeds most.
// It returns the text and the number of bytes that it removed.
func cutMiddle(s string, most int) (string, int64) {
	if len(s) <= most && escapedSize(s) <= most {
		return s, 0
	}
	most = max(0, most-40) // the note needs up to 40 bytes
	for room := most; ; room = room * 3 / 4 {
		head, tail := text.Prefix(s, room*2/3), text.Suffix(s, room/3)
		if escapedSize(head)+escapedSize(tail) <= most {
			out := len(s) - len(head) - len(tail)
			return fmt.Sprintf("%s\n[... %d bytes ...]\n%s", head, out, tail), int64(out)
		}
	}
}

// truncate shortens the text s so that its escaped size does not exceed most, and returns that
// size.
func truncate(s *string, most int) int {
	*s = shorten(*s, most)
	return escapedSize(*s)
}

// shorten is like cutMiddle, but returns only the text.
func shorten(s string, most int) string {
	s, _ = cutMiddle(s, most)
	return s
}
