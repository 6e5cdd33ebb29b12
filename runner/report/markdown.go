package report

import (
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// code returns Markdown that shows an untrusted text unchanged, shortened to width columns on one
// line. It uses a code span with delimiters that are longer than any sequence of backticks in the
// text. The Markdown may be used in a table.
func code(text string, width int) string { return codeSpan(cut(text, width)) }

// codeSpan is like code for a text that is already one plain line, and does not shorten it.
func codeSpan(line string) string {
	if line == "" {
		return "–"
	}
	// A vertical bar ends a table cell, even in a code span. A backslash before the bar would only
	// help if the text had no backslash there.
	return text.Code(strings.ReplaceAll(line, "|", "∣"))
}

// htmlCode is like code, but returns HTML for a line in which Markdown is not interpreted.
func htmlCode(text string) string {
	return "<code>" + html.EscapeString(cut(text, widestName)) + "</code>"
}

// fence returns Markdown that shows a text with several lines unchanged, in a fenced code block.
func fence(s string) string { return text.Fence(s, "text") }

// widestProse is the number of columns of a fenced code block that are visible without scrolling.
const widestProse = 110

// wrap breaks long lines between words, because GitHub does not wrap the lines of a fenced code
// block.
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

// prose returns Markdown for a line of raymond's own text. The line may quote untrusted text, so
// all Markdown in it is escaped, except that text between two backticks becomes code.
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

// withoutBackticks converts a line of prose to plain text, for output that isn't Markdown.
func withoutBackticks(text string) string { return plain(strings.ReplaceAll(text, "`", "")) }

// literal escapes all characters that have a meaning in Markdown or HTML.
func literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '@' || r == '$':
			// GitHub looks for mentions and formulas in plain text, but not in code, so write the
			// character as code.
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
