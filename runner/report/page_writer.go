package report

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// writer collects Markdown that must stay below a length. What a reader must see is
// written in any case, and is short. The rest is written as far as there is room.
type writer struct {
	b     strings.Builder
	room  int  // bytes left
	short int  // in an overview, which has nothing folded: about how many bytes each text may take
	isCut bool // something had to be cut
}

// most is how many bytes a text may take that may take so many on a page.
func (w *writer) most(onPage int) int {
	if w.short > 0 {
		return min(onPage, w.short)
	}
	return onPage
}

// write writes what a reader must see.
func (w *writer) write(text string) {
	w.b.WriteString(text)
	w.room -= len(text)
}

// printf is write for a format.
func (w *writer) printf(format string, args ...any) { w.write(fmt.Sprintf(format, args...)) }

// fit writes a part if there is room for all of it.
func (w *writer) fit(text string) {
	if len(text) <= w.room {
		w.write(text)
		return
	}
	w.isCut = true
}

// text writes a text with what render puts around it. No text takes more than its share of the
// room, so that there is some for what follows.
func (w *writer) text(s string, most int, render func(text string) string) {
	const share = 4 // fences of a text of backticks alone are twice as long as it
	if room := max(0, w.room/share); room < most {
		most, w.isCut = room, w.isCut || len(s) > room
	}
	w.fit(render(middleOut(s, most)))
}

// String returns what was written.
func (w *writer) String() string { return w.b.String() }

// middleOut returns a text of others, made printable, and in at most about limit bytes: of a longer
// one the beginning, the end, and a line that says what was left out.
func middleOut(s string, limit int) string {
	whole := len(s)
	if whole <= 4*limit {
		if s = block(s); len(s) <= limit {
			return s
		}
		whole = len(s)
	}
	head := text.Prefix(block(text.Prefix(s, 4*limit)), limit*2/3)
	tail := text.Suffix(block(text.Suffix(s, 4*limit)), limit-limit*2/3)
	gap := fmt.Sprintf("… %s left out …", count(whole-len(head)-len(tail), "byte"))
	return strings.Trim(head+"\n"+gap+"\n"+tail, "\n")
}
