package report

import (
	"time"

	"github.com/raymond-action/raymond-action/runner"
)

// activity is the known activity of an agent. Its texts are untrusted.
type activity struct {
	current  string // current activity; "" if unknown
	since    time.Time
	lastText string // newest text of the agent
	lastTime time.Time
}

// update sets the text or the activity of an agent. If the activity is the same as before, its
// start time is kept.
func (d *activity) update(p runner.Progress, at time.Time) {
	if p.Text != "" {
		d.setText(p.Text, at)
	}
	if p.Activity != "" && p.Activity != d.current {
		d.current, d.since = p.Activity, at
	}
}

// setText sets the newest text of an agent.
func (d *activity) setText(text string, at time.Time) { d.lastText, d.lastTime = text, at }

// reset clears the activity after the end of an invocation.
func (d *activity) reset(text string, at time.Time) { *d = activity{lastText: text, lastTime: at} }

// text describes the activity; "" if it is unknown. paint colors raymond's own text.
func (d *activity) text(now time.Time, paint func(string) string) string {
	switch {
	case d.current != "":
		return cut(d.current, jobWidth) + paint(" for "+formatClock(now.Sub(d.since)))
	case d.lastText != "":
		return paint("last, "+formatClock(now.Sub(d.lastTime))+" ago: ") + cut(d.lastText, jobWidth)
	}
	return ""
}
