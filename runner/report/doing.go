package report

import "time"

// doing is what an agent does at the moment, as far as it is known. The texts are
// as others wrote them.
type doing struct {
	busy  string // what it is busy with; "" when only its last words are known
	since time.Time
	last  string // what it said last
	heard time.Time
}

// does notes what an agent is busy with. The time at which that began stays if the
// text is the same as before.
func (d *doing) does(text string, at time.Time) {
	if text != d.busy {
		d.busy, d.since = text, at
	}
}

// said notes what an agent said.
func (d *doing) said(text string, at time.Time) { d.last, d.heard = text, at }

// interrupted notes what ended an invocation, after which the agent isn't busy.
func (d *doing) interrupted(text string, at time.Time) { *d = doing{last: text, heard: at} }

// text says what an agent is doing, with our own words painted by ours; "" where nothing is known.
func (d *doing) text(now time.Time, ours func(string) string) string {
	switch {
	case d.busy != "":
		return cut(d.busy, jobWidth) + ours(" for "+clock(now.Sub(d.since)))
	case d.last != "":
		return ours("last, "+clock(now.Sub(d.heard))+" ago: ") + cut(d.last, jobWidth)
	}
	return ""
}
