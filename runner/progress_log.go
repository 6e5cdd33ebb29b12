package runner

import (
	"github.com/raymond-action/raymond-action/state"
)

// maxLine is the largest number of characters that are reported of an output line.
const maxLine = 2000

// At VerbosityBounded, an invocation reports at most 500 lines and 256 KiB. The line about omitted
// lines is one of the 500.
var (
	firstLimit = ExcerptLimit{Lines: 450, Bytes: 224 << 10}
	lastLimit  = ExcerptLimit{Lines: 49, Bytes: 32 << 10}
)

// progressLog reports what happens outside of steps: the output and the activity of running agents,
// and notes. Only the owner calls its methods.
type progressLog struct {
	cfg *Config
	// excerpts contains the first and last lines of the running invocations, by agent.
	excerpts map[string]*Excerpt
}

// end reports the last lines of an invocation that has ended, and deletes its excerpt.
func (t *progressLog) end(run *state.Run, a *state.Agent) {
	if x := t.excerpts[a.ID]; x != nil {
		x.Each(func(line string) { t.emit(run, a, line) })
	}
	delete(t.excerpts, a.ID)
}

// progress reports the Progress of a running invocation.
func (t *progressLog) progress(run *state.Run, a *state.Agent, p Progress) {
	if p.Note != "" {
		t.cfg.Reporter.Note("", "", t.cfg.Redact(p.Note))
		return
	}
	if p.Tool != nil {
		t.cfg.Reporter.Doing(a.ID, a.State, Progress{Tool: &ToolUse{Name: t.cfg.Redact(p.Tool.Name), Input: t.cfg.Redact(p.Tool.Input)}})
		return
	}
	p.Text, p.Activity = t.cfg.Redact(p.Text), t.cfg.Redact(p.Activity)
	isLine := p.Text != "" || p.Activity == ""
	if isLine && t.addLine(run, a, p.Text) || t.cfg.Verbosity == VerbosityNone {
		p.Text = ""
	}
	if p != (Progress{}) {
		t.cfg.Reporter.Doing(a.ID, a.State, p)
	}
}

// addLine reports a line of an agent's output. It returns false if too many lines came before the
// line. The line is then kept, and is reported when the invocation ends if it is among the last ones.
func (t *progressLog) addLine(run *state.Run, a *state.Agent, text string) bool {
	if len(text) > maxLine {
		if runes := []rune(text); len(runes) > maxLine {
			text = string(runes[:maxLine])
		}
	}
	x := t.excerpts[a.ID]
	if x == nil {
		x = &Excerpt{First: firstLimit, Last: lastLimit}
		t.excerpts[a.ID] = x
	}
	if t.cfg.Verbosity != VerbosityFull && !x.Admit(text) {
		return false
	}
	t.emit(run, a, text)
	return true
}

// emit reports a line as an event. At VerbosityNone, it only shows the line to users who watch the
// run.
func (t *progressLog) emit(run *state.Run, a *state.Agent, text string) {
	if t.cfg.Verbosity == VerbosityNone {
		t.cfg.Reporter.Doing(a.ID, a.State, Progress{Text: text})
		return
	}
	t.cfg.Reporter.Report(run.UnsavedEvent(t.cfg.Clock.Now(), a, &state.AgentOutput{Text: text}))
}

// note reports something unusual that is not a failure. At VerbosityFull, the note becomes an event
// in the agent's output. Otherwise, it is only shown to users.
func (t *progressLog) note(run *state.Run, a *state.Agent, text string) {
	if text = t.cfg.Redact(text); t.cfg.Verbosity == VerbosityFull {
		t.addLine(run, a, "note: "+text)
		return
	}
	t.cfg.Reporter.Note(a.ID, a.State, text)
}
