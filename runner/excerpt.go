package runner

import "github.com/raymond-action/raymond-action/state"

// ExcerptLimit limits the lines that an Excerpt keeps at one end.
type ExcerptLimit struct {
	Lines int // 0 means any number
	Bytes int // of all lines together, including line breaks
}

// Excerpt keeps the first of many lines within one limit, and the last of them within another. Its
// memory is bounded, but it always keeps the last line, however long that line is. An Excerpt whose
// limits are set is ready for use. It is not safe for concurrent use.
type Excerpt struct {
	First, Last ExcerptLimit

	first, last []string
	lines, used int // number and bytes of the first lines, which the caller shows or x keeps
	kept        int // bytes of the last lines
	dropped     int // number of lines dropped between both ends
	full        bool
}

// Admit reports whether a line is within the first limit. If it is, the caller shows or keeps the
// line. If it isn't, Admit keeps the line among the last ones, and drops the oldest of them if there
// are too many.
func (x *Excerpt) Admit(line string) bool {
	if !x.full && x.used+size(line) <= x.First.Bytes && (x.First.Lines == 0 || x.lines < x.First.Lines) {
		x.used += size(line)
		x.lines++
		return true
	}
	x.full = true
	x.last = append(x.last, line)
	x.kept += size(line)
	gone := 0
	for gone < len(x.last)-1 && (x.kept > x.Last.Bytes || x.Last.Lines > 0 && len(x.last)-gone > x.Last.Lines) {
		x.kept -= size(x.last[gone])
		gone++
	}
	x.dropped += gone
	clear(x.last[:gone])
	x.last = x.last[gone:]
	return false
}

// Add keeps a line among the first or the last ones.
func (x *Excerpt) Add(line string) {
	if x.Admit(line) {
		x.first = append(x.first, line)
	}
}

// size returns the size of a line with its line break. It is never 0, so that empty lines are
// bounded too.
func size(line string) int { return len(line) + 1 }

// IsEmpty reports whether x keeps no line. Lines that the caller shows after Admit don't count.
func (x *Excerpt) IsEmpty() bool { return len(x.first)+len(x.last) == 0 }

// Each calls emit with the kept lines in order. If lines were dropped, a line between both ends
// says how many.
func (x *Excerpt) Each(emit func(line string)) {
	for _, line := range x.first {
		emit(line)
	}
	if x.dropped > 0 {
		emit("… " + state.Count(x.dropped, "line") + " left out …")
	}
	for _, line := range x.last {
		emit(line)
	}
}
