package report

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// writer collects Markdown up to a maximum size. The most important texts are short and always
// written; others are written if there is room.
type writer struct {
	b     strings.Builder
	room  int  // remaining bytes
	short int  // for an overview, which has no folded texts: approximate maximum size of each text; 0 for a summary
	isCut bool // something was left out
}

// limit returns the maximum size of a text whose maximum size in a summary is onPage.
func (w *writer) limit(onPage int) int {
	if w.short > 0 {
		return min(onPage, w.short)
	}
	return onPage
}

// write writes a text that must not be left out.
func (w *writer) write(text string) {
	w.b.WriteString(text)
	w.room -= len(text)
}

// printf is like write, with a format.
func (w *writer) printf(format string, args ...any) { w.write(fmt.Sprintf(format, args...)) }

// writeIfRoom writes a text if there is room for all of it.
func (w *writer) writeIfRoom(text string) {
	if len(text) <= w.room {
		w.write(text)
		return
	}
	w.isCut = true
}

// text writes a text with the markup that render adds. A single text gets at most a share of the
// remaining room, to leave some for the following ones.
func (w *writer) text(s string, most int, render func(text string) string) {
	const share = 4 // a fence around backticks can double the size of the text
	if room := max(0, w.room/share); room < most {
		most, w.isCut = room, w.isCut || len(s) > room
	}
	w.writeIfRoom(render(shortenMiddle(s, most)))
}

// String returns the collected Markdown.
func (w *writer) String() string { return w.b.String() }

// shortenMiddle makes an untrusted text printable and, if it is longer than about limit bytes,
// replaces its middle with a line about the bytes left out.
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
	gap := fmt.Sprintf("… %s left out …", count(size-len(head)-len(tail), "byte"))
	return strings.Trim(head+"\n"+gap+"\n"+tail, "\n")
}
