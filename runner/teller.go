package runner

import (
	"github.com/raymond-action/raymond-action/state"
)

// maxSaid is how much of a line that an agent says is told, in characters.
const maxSaid = 2000

// Unless everything is told, 500 lines of an invocation are, with the line
// that stands for those left out, and 256 KiB.
var (
	saidFirst = ExcerptLimit{Lines: 450, Bytes: 224 << 10}
	saidLast  = ExcerptLimit{Lines: 49, Bytes: 32 << 10}
)

// teller tells what is part of no step: what agents say and do while they run, and
// notes. Its methods are the owner's.
type teller struct {
	cfg *Config
	// excerpts are the first and last lines of the invocations under way, by agent.
	excerpts map[string]*Excerpt
}

// end tells the last lines of an invocation that has ended.
func (t *teller) end(run *state.Run, a *state.Agent) {
	if x := t.excerpts[a.ID]; x != nil {
		x.Each(func(line string) { t.tell(run, a, line) })
	}
	delete(t.excerpts, a.ID)
}

// progress tells what a backend says of an invocation under way.
func (t *teller) progress(run *state.Run, a *state.Agent, p Progress) {
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
	if isLine && t.say(run, a, p.Text) || t.cfg.Verbosity == VerbosityNone {
		p.Text = ""
	}
	if p != (Progress{}) {
		t.cfg.Reporter.Doing(a.ID, a.State, p)
	}
}

// say tells a line of an agent, and reports false when there was too much before
// it.
func (t *teller) say(run *state.Run, a *state.Agent, text string) bool {
	if len(text) > maxSaid {
		if runes := []rune(text); len(runes) > maxSaid {
			text = string(runes[:maxSaid])
		}
	}
	x := t.excerpts[a.ID]
	if x == nil {
		x = &Excerpt{First: saidFirst, Last: saidLast}
		t.excerpts[a.ID] = x
	}
	if t.cfg.Verbosity != VerbosityFull && !x.Admit(text) {
		return false
	}
	t.tell(run, a, text)
	return true
}

// tell makes a line an event, or shows it only to those who watch.
func (t *teller) tell(run *state.Run, a *state.Agent, text string) {
	if t.cfg.Verbosity == VerbosityNone {
		t.cfg.Reporter.Doing(a.ID, a.State, Progress{Text: text})
		return
	}
	t.cfg.Reporter.Report(run.UnsavedEvent(t.cfg.Clock.Now(), a, &state.AgentOutput{Text: text}))
}

// note tells what was odd but no failure. It is an event only where all that
// agents print is one.
func (t *teller) note(run *state.Run, a *state.Agent, text string) {
	if text = t.cfg.Redact(text); t.cfg.Verbosity == VerbosityFull {
		t.say(run, a, "note: "+text)
		return
	}
	t.cfg.Reporter.Note(a.ID, a.State, text)
}
