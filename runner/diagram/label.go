package diagram

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is how many characters of a name a diagram shows at most.
const maxName = 40

// label makes a text harmless inside the quotes of a Mermaid label, which then shows it
// as it is. Mermaid reads labels as its own syntax, then as Markdown, then as HTML. Only
// what means nothing to any of them stays; the rest becomes a numbered entity.
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
			b.WriteRune(unicode.ReplacementChar) // a changed direction or a hidden break would mislead
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// isSafe reports whether a character stands for itself wherever it is.
func isSafe(r rune) bool {
	if r < utf8.RuneSelf {
		return isPlain(r)
	}
	const joiner = '\u200d' // makes one emoji of several
	if r == '°' {
		return false // Mermaid writes an entity as a ligature and degree signs while it works
	}
	return r == '…' || r == joiner || r == unicode.ReplacementChar || unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.So)
}

// isPlain reports whether r is an ASCII letter or digit.
func isPlain(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// isInner reports whether a blank, dot, dash or underscore stands between
// letters and digits, where it means nothing to Markdown. A dot after www begins
// a link, and a digit and a dot a list.
func isInner(runes []rune, i int) bool {
	isWeb := runes[i] == '.' && strings.HasSuffix(strings.ToLower(string(runes[:i])), "www")
	return strings.ContainsRune(" ._-", runes[i]) && !isWeb && i > 0 && i < len(runes)-1 && isPlain(runes[i-1]) && isPlain(runes[i+1])
}
