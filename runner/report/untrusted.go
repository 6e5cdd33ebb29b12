package report

import (
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// maxBytes limits the time for a long text: only this many bytes at its start and its end are
// converted.
const maxBytes = 8 << 10

// plain converts an untrusted text to one line of printable text. It removes escape sequences,
// control characters, invisible characters and characters that change the writing direction. It
// replaces white space with single spaces, and breaks up the marks of job log commands: "##["
// anywhere, and "::" at the start of a line.
func plain(s string) string {
	return breakCommands(strings.Join(strings.Fields(text.Line(s)), " "))
}

// breakCommands changes a line so that a job log does not interpret it as a command.
func breakCommands(line string) string {
	if at := strings.TrimLeft(line, " "); strings.HasPrefix(at, "::") {
		line = line[:len(line)-len(at)] + ": " + at[1:]
	}
	return text.BreakCommandMark(line)
}

// plainLines converts an untrusted text with several lines to printable text. It keeps indentation.
// Unlike plain, it does not break up the marks of job log commands.
func plainLines(s string) string { return strings.Trim(text.Printable(s), "\n") }

// cut converts a text to one plain line with at most width columns. If it shortens the text, the
// line ends with an ellipsis.
func cut(text string, width int) string {
	dropped := len(text) > maxBytes
	text = plain(text[:min(len(text), maxBytes)])
	if !dropped && columns(text) <= width {
		return text
	}
	return head(text, width-columns(ellipsis)) + ellipsis
}

// cutMiddle is like cut, but removes the middle of a long text. The end of the text may be important
// too, as in an error that quotes the end of an output.
func cutMiddle(text string, width int) string { return cutToEnds(text, width, plain) }

// cutOutput is like cutMiddle for a line that plainLines returned. It keeps the line's white space,
// and replaces each tab with four spaces.
func cutOutput(line string, width int) string {
	return cutToEnds(line, width, func(s string) string {
		return strings.TrimRight(breakCommands(strings.ReplaceAll(text.Line(s), "\t", "    ")), " ")
	})
}

// cutToEnds shortens a text to its start and its end, with an ellipsis between them. The function
// shown converts the start and the end to plain text.
func cutToEnds(text string, width int, shown func(string) string) string {
	if len(text) <= 2*maxBytes {
		text = shown(text)
		if columns(text) <= width {
			return text
		}
	}
	room := width - columns(ellipsis)
	start := shown(text[:min(len(text), maxBytes)])
	end := shown(text[max(0, len(text)-maxBytes):])
	return head(start, room-room/2) + ellipsis + tail(end, room/2)
}

const ellipsis = "…"

// columns returns the number of terminal columns that a text needs at most. Characters that may be
// two columns wide count as two.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

// runeColumns returns how many columns a character takes at most.
func runeColumns(r rune) int {
	if r < 0x1100 || r == utf8.RuneError {
		return 1
	}
	return 2
}

// head returns the longest start of a text that fits into width columns.
func head(text string, width int) string {
	for i, r := range text {
		if width -= runeColumns(r); width < 0 {
			return text[:i]
		}
	}
	return text
}

// tail returns the longest end of a text that fits into width columns.
func tail(text string, width int) string {
	at := len(text)
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if width -= runeColumns(r); width < 0 {
			break
		}
		at -= size
	}
	return text[at:]
}

// pad appends spaces to a text until it is width columns wide.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

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

// quotesAsCode returns a text with quotations as Markdown in which the quotations are code.
func quotesAsCode(text string) string {
	parts := strings.Split(text, quoteMark)
	for i := 1; i < len(parts); i += 2 {
		parts[i] = codeSpan(parts[i])
	}
	return strings.Join(parts, "")
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
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		for columns(line) > widestProse {
			start := head(line, widestProse)
			if at := strings.LastIndexByte(start, ' '); at > 0 && strings.TrimSpace(start[:at]) != "" {
				start = start[:at+1]
			}
			lines = append(lines, strings.TrimRight(start, " "))
			line = line[len(start):]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// prose returns Markdown for a line of raymond's own text. The line may quote untrusted text, so
// all Markdown in it is escaped, except that text between two backticks becomes code.
func prose(text string, width int) string {
	parts := strings.Split(cut(text, width), "`")
	if len(parts)%2 == 0 {
		return literal(strings.Join(parts, "`"))
	}
	for i, part := range parts {
		if i%2 == 0 {
			parts[i] = literal(part)
		} else if part != "" {
			parts[i] = code(part, width)
		}
	}
	return strings.Join(parts, "")
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

// writer collects Markdown up to a maximum size. Important texts, which are short, are always
// written. Other texts are only written if there is enough room.
type writer struct {
	b    strings.Builder
	room int // remaining bytes; may become negative
	// short is the approximate maximum size of each text in an overview, which has no folded texts.
	// It is 0 for a summary.
	short int
	isCut bool // a text was shortened or left out
}

// limit returns the maximum size of a text in bytes: onPage in a summary, at most w.short in an
// overview.
func (w *writer) limit(onPage int) int {
	if w.short > 0 {
		return min(onPage, w.short)
	}
	return onPage
}

// write writes an important text, even if there is too little room.
func (w *writer) write(text string) {
	w.b.WriteString(text)
	w.room -= len(text)
}

// printf formats a text and writes it like write.
func (w *writer) printf(format string, args ...any) { w.write(fmt.Sprintf(format, args...)) }

// writeIfRoom writes a text if the remaining room is large enough for all of it.
func (w *writer) writeIfRoom(text string) {
	if len(text) <= w.room {
		w.write(text)
		return
	}
	w.isCut = true
}

// text writes a text, to which render adds markup. most is the maximum size of the text in bytes;
// the middle of a longer text is removed. A text gets at most a quarter of the remaining room, to
// leave room for the texts that follow.
func (w *writer) text(s string, most int, render func(text string) string) {
	const share = 4 // a quarter, since a fence around backticks can double the size of the text
	if room := max(0, w.room/share); room < most {
		most, w.isCut = room, w.isCut || len(s) > room
	}
	w.writeIfRoom(render(shortenMiddle(s, most)))
}

// shortenMiddle makes an untrusted text printable. If the text is longer than about limit bytes,
// its middle is replaced with a line that contains the number of bytes left out.
func shortenMiddle(s string, limit int) string {
	size := len(s)
	if size <= 4*limit {
		if s = plainLines(s); len(s) <= limit {
			return s
		}
		size = len(s)
	}
	head := text.Prefix(plainLines(text.Prefix(s, 4*limit)), limit*2/3)
	tail := text.Suffix(plainLines(text.Suffix(s, 4*limit)), limit-limit*2/3)
	gap := fmt.Sprintf("… %s left out …", state.Count(size-len(head)-len(tail), "byte"))
	return strings.Trim(head+"\n"+gap+"\n"+tail, "\n")
}
