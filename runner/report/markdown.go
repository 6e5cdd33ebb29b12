package report

import (
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// code returns Markdown that shows an untrusted text unchanged on one line: a code span whose
// delimiters are longer than any run of backticks in the text. It may be used in a table.
func code(text string, width int) string { return codeSpan(cut(text, width)) }

// codeSpan is like code, for a text that is already a plain line.
func codeSpan(line string) string {
	if line == "" {
		return "–"
	}
	// A bar ends a table cell even within code. Escaping it does not work if the text has a
	// backslash before it.
	return text.Code(strings.ReplaceAll(line, "|", "∣"))
}

// htmlCode is like code, for a line of HTML, in which Markdown is not interpreted.
func htmlCode(text string) string {
	return "<code>" + html.EscapeString(cut(text, widestName)) + "</code>"
}

// fence returns Markdown that shows a text of several lines unchanged.
func fence(s string) string { return text.Fence(s, "text") }

// widestProse is how many columns of a fence are visible without scrolling.
const widestProse = 110

// wrap breaks long lines between words, since a fence doesn't wrap them.
func wrap(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		for columns(line) > widestProse {
			start := head(line, widestProse)
			if at := strings.LastIndexByte(start, ' '); at > 0 && strings.TrimSpace(start[:at]) != "" {
				start = start[:at+1]
			}
			b.WriteString(strings.TrimRight(start, " ") + "\n")
			line = line[len(start):]
		}
		b.WriteString(line)
	}
	return b.String()
}

// prose returns a line of raymond's text as Markdown. The line may quote untrusted text: only pairs
// of backticks are interpreted, as code.
func prose(text string, width int) string {
	parts := strings.Split(cut(text, width), "`")
	if len(parts)%2 == 0 {
		return literal(strings.Join(parts, "`"))
	}
	var b strings.Builder
	for i, part := range parts {
		if i%2 == 0 {
			b.WriteString(literal(part))
		} else if part != "" {
			b.WriteString(code(part, width))
		}
	}
	return b.String()
}

// withoutBackticks returns a line of prose for places without Markdown.
func withoutBackticks(text string) string { return plain(strings.ReplaceAll(text, "`", "")) }

// literal escapes characters that have a meaning in Markdown or HTML.
func literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '@' || r == '$':
			// GitHub searches plain text for mentions and formulas, but not code.
			fmt.Fprintf(&b, "<code>%c</code>", r)
		case r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)) && !strings.ContainsRune(",;'\"%", r):
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
