package report

import (
	"time"

	"github.com/raymond-action/raymond-action/runner"
)

// doing is what an agent does at the moment, as far as it is known. The texts are
// as others wrote them.
type doing struct {
	busy  string // what it is busy with; "" when only its last words are known
	since time.Time
	last  string // what it said last
	heard time.Time
}

// note notes what an agent said or is busy with. The time at which that began stays if the text is the
// same as before.
func (d *doing) note(p runner.Progress, at time.Time) {
	if p.Text != "" {
		d.said(p.Text, at)
	}
	if p.Activity != "" && p.Activity != d.busy {
		d.busy, d.since = p.Activity, at
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
