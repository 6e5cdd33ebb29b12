package ask

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Marker returns the invisible first line of a comment. It is different for each
// identity, which is a list of texts.
func Marker(identity ...string) string {
	h := sha256.New()
	for _, text := range identity {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return fmt.Sprintf("<!-- raymond-action %x -->", h.Sum(nil)[:16])
}

var commentMarked = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^<!-- raymond-action [0-9a-f]{32} -->`) })

// IsComment reports whether a comment begins with a marker of any identity. Anybody can
// write such a comment.
func IsComment(body string) bool { return commentMarked().MatchString(body) }

// maxBody bounds a comment, in bytes. GitHub accepts 65,536 characters.
const maxBody = 60_000

// Body returns the text of a comment: the marker, what the comment says in Markdown, and
// a last line. If that is too long, only the first line of what it says remains.
func Body(marker, says, last string) string {
	frame := len(marker) + len(last) + len("\n\n\n")
	if len(says)+frame > maxBody {
		says, _, _ = strings.Cut(says, "\n")
		says = text.Before(says, maxBody-frame)
	}
	return strings.ToValidUTF8(marker+"\n"+strings.Trim(says, "\n")+"\n\n"+last, "")
}
