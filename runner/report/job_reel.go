package report

import "slices"

// mostReel is how many bytes of a state's lines a job log shows. Half of them
// are for the first lines, half for the last.
const mostReel = 64 << 10

// reel keeps the first and the last of many lines. The zero reel is empty.
type reel struct {
	first, last []string
	used, kept  int // bytes of both
	dropped     int // lines between them
	full        bool
}

// takes counts a line that the caller shows or keeps as one of the first. It
// reports false for one that is not, which is kept as one of the last.
func (r *reel) takes(line string) bool {
	if !r.full && r.used+len(line) <= mostReel/2 {
		r.used += len(line)
		return true
	}
	r.full = true
	r.keepLast(line)
	return false
}

// add keeps a line.
func (r *reel) add(line string) {
	if r.takes(line) {
		r.first = append(r.first, line)
	}
}

// keepLast keeps a line as the last one, and lets go of the oldest of the last.
func (r *reel) keepLast(line string) {
	r.last = append(r.last, line)
	r.kept += len(line)
	gone := 0
	for r.kept > mostReel/2 && gone < len(r.last)-1 {
		r.kept -= len(r.last[gone])
		gone++
	}
	r.dropped += gone
	r.last = slices.Delete(r.last, 0, gone)
}

func (r *reel) isEmpty() bool { return len(r.first)+len(r.last) == 0 }

// each prints the lines that are kept, with a word on those that are not.
func (r *reel) each(tell func(line string)) {
	for _, line := range r.first {
		tell(line)
	}
	if r.dropped > 0 {
		tell("… " + count(r.dropped, "line") + " left out …")
	}
	for _, line := range r.last {
		tell(line)
	}
}
