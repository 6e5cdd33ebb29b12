package report

import (
	"fmt"
	"strings"
)

// writer collects Markdown that must stay below a length. What a reader must see is
// written in any case, and is short. The rest is cut to the room that there is.
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

// fit writes as much of a part as there is room for: all of it, or half of it, or a
// quarter, and so on. The size of the part is in bytes or in lines; render returns
// the part cut to a number of them.
func (w *writer) fit(size int, render func(limit int) string) {
	for limit := min(size, max(0, w.room)); limit > 0; limit /= 2 {
		if text := render(limit); len(text) <= w.room {
			w.write(text)
			w.isCut = w.isCut || limit < size
			return
		}
	}
	w.isCut = w.isCut || size > 0
}

// String returns what was written.
func (w *writer) String() string { return w.b.String() }
