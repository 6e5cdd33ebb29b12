package diagram

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the maximum number of characters of a name in a diagram.
const maxName = 40

// label escapes a text for a quoted Mermaid label. Mermaid parses labels as its own syntax, then as
// Markdown, then as HTML. Characters that mean nothing to any of them stay; others become numeric
// entities.
func label(text string) string {
	runes := []rune(strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
	if len(runes) > maxName {
		const tail = maxName / 3
		head := runes[:maxName-tail-1]
		runes = append(append(append([]rune{}, head...), '…'), runes[len(runes)-tail:]...)
	}
	var b strings.Builder
	for i, r := range runes {
		switch {
		case isSafe(r) || isInner(runes, i):
			b.WriteRune(r)
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			b.WriteRune(unicode.ReplacementChar) // a changed text direction or a hidden break would mislead readers
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// isSafe reports whether a character is shown unchanged wherever it is.
func isSafe(r rune) bool {
	if r < utf8.RuneSelf {
		return isPlain(r)
	}
	const joiner = '\u200d' // combines several characters into one emoji
	if r == '°' {
		return false // Mermaid itself encodes entities with ligatures and degree signs
	}
	return r == '…' || r == joiner || r == unicode.ReplacementChar || unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.So)
}

// isPlain reports whether r is an ASCII letter or digit.
func isPlain(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// isInner reports whether the rune at i is a blank, dot, dash or underscore between letters or
// digits, where Markdown ignores it. A dot after "www" is excluded, since it starts a link.
func isInner(runes []rune, i int) bool {
	isWeb := runes[i] == '.' && strings.HasSuffix(strings.ToLower(string(runes[:i])), "www")
	return strings.ContainsRune(" ._-", runes[i]) && !isWeb && i > 0 && i < len(runes)-1 && isPlain(runes[i-1]) && isPlain(runes[i+1])
}
