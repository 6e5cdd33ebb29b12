package report

import (
	"fmt"
	"strings"
)

// writer collects Markdown that must stay below a length. What a reader must see is
// written in any case, and is short. The rest is written as far as there is room.
type writer struct {
	b     strings.Builder
	room  int  // bytes left
	isCut bool // something had to be cut
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
func (w *writer) text(p passage, render func(text string) string) {
	const share = 4 // fences of a text of backticks alone are twice as long as it
	shown := p.within(max(0, w.room/share))
	w.isCut = w.isCut || shown != p
	w.fit(render(shown.String()))
}

// String returns what was written.
func (w *writer) String() string { return w.b.String() }
