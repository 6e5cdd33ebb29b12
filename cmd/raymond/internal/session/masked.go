package session

import (
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// masked hides secrets in the texts of all events, whoever is told them.
type masked struct {
	to   runner.Reporter
	hide func(string) string
}

// Report implements runner.Reporter.
func (m masked) Report(e state.Event) { m.to.Report(e.Map(m.hide)) }

// Tick implements runner.Reporter.
func (m masked) Tick(now time.Time) { m.to.Tick(now) }

// Note implements runner.Reporter.
func (m masked) Note(agent, state, text string) { m.to.Note(agent, state, m.hide(text)) }

// Doing implements runner.Reporter.
func (m masked) Doing(agent, state string, p runner.Progress) {
	shown := runner.Progress{Text: m.hide(p.Text), Doing: m.hide(p.Doing)}
	if use := p.Tool; use != nil {
		shown.Tool = &runner.ToolUse{Name: m.hide(use.Name), Input: m.hide(use.Input)}
	}
	m.to.Doing(agent, state, shown)
}

// reporter tells events to others, masked unless hide is nil.
func reporter(to *report.Fanout, hide func(string) string) runner.Reporter {
	if hide == nil {
		return to
	}
	return masked{to: to, hide: hide}
}
