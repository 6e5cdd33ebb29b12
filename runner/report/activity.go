package report

import (
	"time"

	"github.com/raymond-action/raymond-action/runner"
)

// activity describes the current work of an agent, if known. Its texts are untrusted.
type activity struct {
	current  string    // current work, such as a running tool; "" if unknown
	since    time.Time // start of the work in current
	lastText string    // newest text that the agent wrote
	lastTime time.Time // when lastText was written
}

// update sets the agent's newest text and activity. If the activity has not changed, since keeps its
// value.
func (d *activity) update(p runner.Progress, at time.Time) {
	if p.Text != "" {
		d.setText(p.Text, at)
	}
	if p.Activity != "" && p.Activity != d.current {
		d.current, d.since = p.Activity, at
	}
}

// setText sets the newest text that the agent wrote.
func (d *activity) setText(text string, at time.Time) { d.lastText, d.lastTime = text, at }

// reset clears the activity after an invocation has ended. text, which describes how the invocation
// ended, becomes the newest text.
func (d *activity) reset(text string, at time.Time) { *d = activity{lastText: text, lastTime: at} }

// text describes the activity, or returns "" if it is unknown. paint colors raymond's own words.
func (d *activity) text(now time.Time, paint func(string) string) string {
	switch {
	case d.current != "":
		return cut(d.current, jobWidth) + paint(" for "+formatClock(now.Sub(d.since)))
	case d.lastText != "":
		return paint("last, "+formatClock(now.Sub(d.lastTime))+" ago: ") + cut(d.lastText, jobWidth)
	}
	return ""
}
