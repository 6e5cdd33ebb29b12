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

// does notes what an agent is busy with. The same thing again goes on.
func (d *doing) does(text string, at time.Time) {
	if text != d.busy {
		d.busy, d.since = text, at
	}
}

// said notes what an agent said.
func (d *doing) said(text string, at time.Time) { d.last, d.heard = text, at }

// stumbled notes what ended an invocation: it is busy with nothing any more.
func (d *doing) stumbled(text string, at time.Time) { *d = doing{last: text, heard: at} }

// pulse says that an agent is at work: at what, for how long, and at what price.
func (j *Job) pulse(s *scene) string {
	text := s.title() + ": working for " + clock(j.now.Sub(s.began))
	if s.attempt > 0 {
		text += fmt.Sprintf(", attempt %d", s.attempt+1)
	}
	if spent := j.spentSoFar(); spent != (state.Spent{}) {
		text += ", " + spent.String()
		if j.budget > 0 {
			text += " of " + j.budget.Dollars()
		}
		text += " spent"
	}
	text = j.dim(text)
	switch {
	case s.busy != "":
		text += j.dim("; ") + cut(s.busy, jobWidth) + j.dim(" for "+clock(j.now.Sub(s.since)))
	case s.last != "":
		text += j.dim("; last, "+clock(j.now.Sub(s.heard))+" ago: ") + cut(s.last, jobWidth)
	}
	return text
}

// spentSoFar is what is known of the cost of the run: states that ended,
// attempts, and what a limit said.
func (j *Job) spentSoFar() state.Spent {
	sum := j.spent
	for _, s := range j.scenes {
		sum = sum.Plus(s.spent)
	}
	return sum.AtLeast(j.warned)
}
