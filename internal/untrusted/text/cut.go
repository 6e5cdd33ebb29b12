package text

import (
	"strings"
	"unicode/utf8"
)

// Prefix returns the first n bytes of a text, or up to three bytes fewer if a character would be cut.
// Invalid UTF-8 stays invalid.
func Prefix(s string, n int) string {
	if n >= len(s) {
		return s
	}
	n = max(0, n)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Suffix returns the last n bytes of a text, or up to three bytes fewer if a character would be cut.
// Invalid UTF-8 stays invalid.
func Suffix(s string, n int) string {
	at := max(0, len(s)-max(0, n))
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// LastLines returns as many whole lines from the end of a text as fit into n bytes. If the last line alone
// is longer than n bytes, it returns the last n bytes of that line, without a partial character.
func LastLines(s string, n int) string {
	end := Suffix(s, n)
	if at := len(s) - len(end); at > 0 && s[at-1] != '\n' {
		if _, lines, _ := strings.Cut(end, "\n"); lines != "" {
			return lines
		}
	}
	return end
}

// Truncate returns a text of at most most bytes. It cuts a longer text between two characters and appends
// an ellipsis.
func Truncate(s string, most int) string {
	const ellipsis = "…"
	if len(s) <= most {
		return s
	}
	return Prefix(s, most-len(ellipsis)) + ellipsis
}

// Brief returns a text as one line for display. It removes the sequences and characters that Printable
// removes, and replaces each run of white space by one space. If the line has more than width characters,
// Brief cuts it there and appends an ellipsis.
func Brief(s string, width int) string {
	s = strings.Join(strings.Fields(Printable(s)), " ")
	n := 0
	for at := range s {
		if n++; n > width {
			return strings.TrimRight(s[:at], " ") + "…"
		}
	}
	return s
}
