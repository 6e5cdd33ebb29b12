package report

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

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

// String returns the collected Markdown.
func (w *writer) String() string { return w.b.String() }

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
	gap := fmt.Sprintf("… %s left out …", count(size-len(head)-len(tail), "byte"))
	return strings.Trim(head+"\n"+gap+"\n"+tail, "\n")
}
