package runner

import "github.com/raymond-action/raymond-action/state"

// ExcerptLimit is how much is kept at one end.
type ExcerptLimit struct {
	Lines int // 0: any number
	Bytes int // of all lines together, each with its line break
}

// Excerpt keeps the first of many lines within one limit and the last within another, in bounded
// memory; at least one of the last, however long. An Excerpt with its limits set is ready for
// use. It is not safe for concurrent use.
type Excerpt struct {
	First, Last ExcerptLimit

	first, last []string
	lines, used int // of the first: their number and bytes, kept here or shown
	kept        int // bytes of the last
	dropped     int // lines between them
	full        bool
}

// Admit counts a line that the caller shows at once or keeps as one of the
// first. It reports false for one that is beyond those, which is kept as one of
// the last.
func (x *Excerpt) Admit(line string) bool {
	if !x.full && x.used+size(line) <= x.First.Bytes && (x.First.Lines == 0 || x.lines < x.First.Lines) {
		x.used += size(line)
		x.lines++
		return true
	}
	x.full = true
	x.keepLast(line)
	return false
}

// Add keeps a line.
func (x *Excerpt) Add(line string) {
	if x.Admit(line) {
		x.first = append(x.first, line)
	}
}

// keepLast keeps a line as the last one, and lets go of the oldest of the last.
func (x *Excerpt) keepLast(line string) {
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
}

// size is never 0, so that empty lines are bounded too.
func size(line string) int { return len(line) + 1 }

// IsEmpty reports whether no line is kept. Those that Takes took are not.
func (x *Excerpt) IsEmpty() bool { return len(x.first)+len(x.last) == 0 }

// Each tells the lines that are kept, with a line on those left out between them.
func (x *Excerpt) Each(tell func(line string)) {
	for _, line := range x.first {
		tell(line)
	}
	if x.dropped > 0 {
		tell("… " + state.Count(x.dropped, "line") + " left out …")
	}
	for _, line := range x.last {
		tell(line)
	}
}
