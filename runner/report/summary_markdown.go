package report

import (
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// code shows a text that somebody else wrote as it is, as one line within
// Markdown: in a code span whose marks are longer than any in the text. It may
// stand in a cell of a table.
func code(text string, width int) string { return codeSpan(cut(text, width)) }

// codeSpan is code for a text that is a plain line already.
func codeSpan(line string) string {
	if line == "" {
		return "–"
	}
	// A bar ends a cell whatever it stands in, and GitHub takes a backslash
	// before an escaped one for the escape.
	line = strings.ReplaceAll(line, "|", "∣")
	marks := strings.Repeat("`", longestRun(line)+1)
	if line[0] == '`' || line[len(line)-1] == '`' {
		line = " " + line + " "
	}
	return marks + line + marks
}

// htmlCode is code for a line of HTML, in which nothing is read as Markdown.
func htmlCode(text string, width int) string {
	return "<code>" + html.EscapeString(cut(text, width)) + "</code>"
}

// fence shows a text of several lines as it is.
func fence(text string) string {
	marks := strings.Repeat("`", max(3, longestRun(text)+1))
	return marks + "text\n" + strings.TrimRight(text, "\n") + "\n" + marks + "\n"
}

// widestProse is how many columns of a fence are seen without scrolling.
const widestProse = 110

// wrap breaks the long lines of a text between words, as a fence does not.
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

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// prose words a line of our own, which may name what others wrote: nothing in it
// is read as Markdown but pairs of backticks, which make code.
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

// uncoded is a line of prose where there is no Markdown.
func uncoded(text string) string { return plain(strings.ReplaceAll(text, "`", "")) }

// literal escapes what Markdown or HTML would read.
func literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '@' || r == '$':
			// After Markdown, GitHub looks for people and formulas in the text, but
			// not in code.
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

// block makes printable lines of what somebody else wrote: plain for a text of
// several lines, whose indentation stays.
func block(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if strings.ContainsAny(text, "\x1b\u009b") {
		text = escapes.ReplaceAllString(text, "")
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case strings.ContainsRune("\r\v\f\u0085\u2028\u2029", r):
			return '\n'
		case unicode.IsGraphic(r):
			return r
		}
		return -1
	}, text)
	return strings.Trim(text, "\n")
}

// passage is what is kept of a long text: its beginning and its end.
type passage struct {
	head, tail string
	dropped    int // bytes between them
}

// keep returns the passage of a text that holds at most most bytes of it.
func keep(text string, most int) passage {
	if len(text) <= 2*most {
		return passage{head: block(text)}.within(most)
	}
	head, tail := before(text, most), after(text, most)
	p := passage{head: block(head), tail: block(tail), dropped: len(text) - len(head) - len(tail)}
	return p.within(most)
}

// within returns the passage cut down to most bytes: two thirds of them for its
// beginning.
func (p passage) within(most int) passage {
	if len(p.head)+len(p.tail) <= most {
		return p
	}
	end := p.tail
	if p.dropped == 0 {
		end = p.head
	}
	c := passage{head: before(p.head, most*2/3), tail: after(end, most-most*2/3)}
	c.dropped = p.dropped + len(p.head) + len(p.tail) - len(c.head) - len(c.tail)
	return c
}

// keepEnd returns the passage that holds the last most bytes of a text.
func keepEnd(text string, most int) passage {
	if len(text) <= 2*most {
		return passage{head: block(text)}.lastBytes(most)
	}
	end := after(text, 2*most)
	return passage{tail: block(end), dropped: len(text) - len(end)}.lastBytes(most)
}

// lastBytes returns a passage of keepEnd cut down to its last most bytes.
func (p passage) lastBytes(most int) passage {
	all := p.head + p.tail
	if len(all) <= most {
		return p
	}
	end := after(all, most)
	return passage{tail: end, dropped: p.dropped + len(all) - len(end)}
}

// String is the passage with a line that says what was left out.
func (p passage) String() string {
	if p.dropped == 0 {
		return p.head
	}
	text := fmt.Sprintf("… %s left out …", count(p.dropped, "byte"))
	if p.head != "" {
		text = p.head + "\n" + text
	}
	if p.tail != "" {
		text += "\n" + p.tail
	}
	return text
}

// isEmpty reports whether there was no text.
func (p passage) isEmpty() bool { return p == passage{} }

// ends returns a text without what lies more than most bytes from either end, so
// that there is a bound to the work on it.
func ends(text string, most int) string {
	if len(text) <= 2*most {
		return text
	}
	return before(text, most) + "\n" + ellipsis + "\n" + after(text, most)
}

// before returns the first n bytes of text or a little less, whole characters.
func before(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// after returns the last n bytes of text or a little less, whole characters.
func after(text string, n int) string {
	at := max(0, len(text)-n)
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}
