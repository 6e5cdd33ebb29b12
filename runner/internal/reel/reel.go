// Package reel keeps the first and the last of many lines, in bounded memory.
//
// It knows how many lines there were and how long, and nothing of what they say.
package reel

import "strconv"

// Limit is how much is kept at one end.
type Limit struct {
	Lines int // 0: any number
	Bytes int // of all lines together, each with its line break
}

// Reel keeps the first lines within one limit and the last within another; at
// least one of the last, however long. A Reel with its limits set is ready for
// use. It is not safe for concurrent use.
type Reel struct {
	First, Last Limit

	first, last []string
	lines, used int // of the first: their number and bytes, kept here or shown
	kept        int // bytes of the last
	dropped     int // lines between them
	full        bool
}

// Takes counts a line that the caller shows at once or keeps as one of the
// first. It reports false for one that is beyond those, which is kept as one of
// the last.
func (r *Reel) Takes(line string) bool {
	if !r.full && r.used+size(line) <= r.First.Bytes && (r.First.Lines == 0 || r.lines < r.First.Lines) {
		r.used += size(line)
		r.lines++
		return true
	}
	r.full = true
	r.keepLast(line)
	return false
}

// Add keeps a line.
func (r *Reel) Add(line string) {
	if r.Takes(line) {
		r.first = append(r.first, line)
	}
}

// keepLast keeps a line as the last one, and lets go of the oldest of the last.
func (r *Reel) keepLast(line string) {
	r.last = append(r.last, line)
	r.kept += size(line)
	gone := 0
	for gone < len(r.last)-1 && (r.kept > r.Last.Bytes || r.Last.Lines > 0 && len(r.last)-gone > r.Last.Lines) {
		r.kept -= size(r.last[gone])
		gone++
	}
	r.dropped += gone
	clear(r.last[:gone])
	r.last = r.last[gone:]
}

// size is never 0, so that empty lines are bounded too.
func size(line string) int { return len(line) + 1 }

// IsEmpty reports whether no line is kept. Those that Takes took are not.
func (r *Reel) IsEmpty() bool { return len(r.first)+len(r.last) == 0 }

// Each tells the lines that are kept, with a line on those left out between them.
func (r *Reel) Each(tell func(line string)) {
	for _, line := range r.first {
		tell(line)
	}
	switch {
	case r.dropped == 1:
		tell("… 1 line left out …")
	case r.dropped > 1:
		tell("… " + thousands(r.dropped) + " lines left out …")
	}
	for _, line := range r.last {
		tell(line)
	}
}

// thousands writes a number with commas between groups of three digits.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
