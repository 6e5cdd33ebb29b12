package report

import (
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

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

// progress says what an agent is doing, for how long, and what the run has cost.
func (j *Job) progress(a *activity) string {
	text := a.title() + ": working for " + clock(j.now.Sub(a.began))
	if a.attempt > 0 {
		text += fmt.Sprintf(", attempt %d", a.attempt+1)
	}
	if spent := j.open.model.spentSoFar(); spent != (state.Spent{}) {
		text += ", " + spent.String()
		if budget := j.open.model.budget(); budget > 0 {
			text += " of " + budget.Dollars()
		}
		text += " spent"
	}
	text = j.dim(text)
	switch d := a.doing; {
	case d.busy != "":
		text += j.dim("; ") + cut(d.busy, jobWidth) + j.dim(" for "+clock(j.now.Sub(d.since)))
	case d.last != "":
		text += j.dim("; last, "+clock(j.now.Sub(d.heard))+" ago: ") + cut(d.last, jobWidth)
	}
	return text
}
