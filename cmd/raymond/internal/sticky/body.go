package sticky

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Marker returns the line that a comment begins with, which no reader sees. It
// is another one for each list of texts.
func Marker(identity ...string) string {
	h := sha256.New()
	for _, text := range identity {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return fmt.Sprintf("<!-- raymond-action %x -->", h.Sum(nil)[:16])
}

var marked = regexp.MustCompile(`^<!-- raymond-action [0-9a-f]{32} -->`)

// IsMarked reports whether a comment begins as those of this package do, of
// whatever run. Anybody can write such a comment.
func IsMarked(body string) bool { return marked.MatchString(body) }

// mostBody bounds a comment, in bytes. GitHub takes 65,536 characters.
const mostBody = 60_000

// Body returns the text of a comment: the marker, then what it says in Markdown,
// and a last line. Of what is too long its first line remains.
func Body(marker, says, last string) string {
	frame := len(marker) + len(last) + len("\n\n\n")
	if len(says)+frame > mostBody {
		says, _, _ = strings.Cut(says, "\n")
		says = text.Before(says, mostBody-frame)
	}
	return strings.ToValidUTF8(marker+"\n"+strings.Trim(says, "\n")+"\n\n"+last, "")
}
