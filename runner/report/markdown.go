package report

import (
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// code returns Markdown that shows a text of somebody else as it is, in one line: a
// code span whose marks are longer than any in the text. It may be used in a table.
func code(text string, width int) string { return codeSpan(cut(text, width)) }

// codeSpan is code for a text that is a plain line already.
func codeSpan(line string) string {
	if line == "" {
		return "–"
	}
	// A bar ends a cell of a table even within code. Escaping it does not help where
	// the text already has a backslash before it.
	return text.Code(strings.ReplaceAll(line, "|", "∣"))
}

// htmlCode is code for a line of HTML, in which nothing is read as Markdown.
func htmlCode(text string) string {
	return "<code>" + html.EscapeString(cut(text, widestName)) + "</code>"
}

// fence returns Markdown that shows a text of several lines as it is.
func fence(s string) string { return text.Fence(s, "text") }

// widestProse is how many columns of a fence are seen without scrolling.
const widestProse = 110

// wrap breaks the long lines of a text between words: a fence does not.
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

// prose returns a line of ours as Markdown. It may quote what others wrote: only pairs
// of backticks in it are read as Markdown, and make code.
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

// withoutBackticks returns a line of prose for where there is no Markdown.
func withoutBackticks(text string) string { return plain(strings.ReplaceAll(text, "`", "")) }

// literal escapes what Markdown or HTML would read.
func literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '@' || r == '$':
			// GitHub looks for people and formulas in what Markdown leaves, but not in
			// code.
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
