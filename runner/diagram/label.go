package diagram

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the maximum number of characters of a label's text. Longer texts are cut in the middle.
const maxName = 40

// label escapes a text for a quoted Mermaid label. Mermaid interprets labels in its own syntax,
// then as Markdown, and then as HTML. Characters without a meaning in any of these are not changed;
// others are replaced with numeric entities.
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
			// A hidden line break or a changed text direction would mislead readers.
			b.WriteRune(unicode.ReplacementChar)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// isSafe reports whether a character has no special meaning anywhere in a label.
func isSafe(r rune) bool {
	if r < utf8.RuneSelf {
		return isPlain(r)
	}
	const joiner = '\u200d' // zero-width joiner, which combines several characters into one emoji
	if r == '°' {
		return false // Mermaid uses degree signs in its own encoding of entities
	}
	return r == '…' || r == joiner || r == unicode.ReplacementChar || unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.So)
}

// isPlain reports whether r is an ASCII letter or digit.
func isPlain(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// isInner reports whether the rune at index i is a space, a dot, a dash or an underscore between
// letters or digits. There, Markdown does not interpret it. A dot after "www" is excluded, since it
// starts a link.
func isInner(runes []rune, i int) bool {
	isWeb := runes[i] == '.' && strings.HasSuffix(strings.ToLower(string(runes[:i])), "www")
	return strings.ContainsRune(" ._-", runes[i]) && !isWeb && i > 0 && i < len(runes)-1 && isPlain(runes[i-1]) && isPlain(runes[i+1])
}
