package insight

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// cost is how many bytes a text takes in a page at most, where some characters are escaped.
func cost(s string) int {
	n := len(s)
	for _, escaped := range []string{"<", ">", "&", `"`, "'", "+"} {
		n += 4 * strings.Count(s, escaped)
	}
	return n
}

// cut returns a text without its middle when it takes more than most bytes where it is shown,
// and how many bytes of it were left out.
func cut(s string, most int) (string, int64) {
	if len(s) <= most && cost(s) <= most {
		return s, 0
	}
	most = max(0, most-40) // the words in the place of the middle
	for room := most; ; room = room * 3 / 4 {
		head, tail := text.Prefix(s, room*2/3), text.Suffix(s, room/3)
		if cost(head)+cost(tail) <= most {
			out := len(s) - len(head) - len(tail)
			return fmt.Sprintf("%s\n[... %d bytes ...]\n%s", head, out, tail), int64(out)
		}
	}
}

// fit shortens a text, and returns what it takes then.
func fit(s *string, most int) int {
	*s = short(*s, most)
	return cost(*s)
}

// short is cut for a text whose length nobody needs to know.
func short(s string, most int) string {
	s, _ = cut(s, most)
	return s
}
