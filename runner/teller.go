package runner

import (
	"maps"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// maxSaid is how much of a line that an agent says is told, in characters.
const maxSaid = 2000

// Unless everything is told, 500 lines of a state execution are, with the line
// that stands for those left out, and 256 KiB.
var (
	saidFirst = ExcerptLimit{Lines: 450, Bytes: 224 << 10}
	saidLast  = ExcerptLimit{Lines: 49, Bytes: 32 << 10}
)

// teller tells what is part of no step: what agents say and do while they run, and
// notes. Its methods are the owner's.
type teller struct {
	reporter Reporter
	telling  Telling
	redact   func(string) string
	now      func() time.Time
	// excerpts are the first and last lines of the state executions under way, by agent.
	excerpts map[string]*Excerpt
}

// endExcerpts tells the last lines of the executions that a step ends; of all when it is the last step.
func (t *teller) endExcerpts(run *state.Run, step *state.Step, isLast bool) {
	for _, id := range slices.Sorted(maps.Keys(t.excerpts)) {
		if now, ok := step.Agent(id); ok && !isLast && now.Exec != nil && now.Status != state.Stuck {
			continue
		}
		if a, ok := run.Agent(id); ok {
			t.excerpts[id].Each(func(line string) { t.tell(run, a, line) })
		}
		delete(t.excerpts, id)
	}
}

// progress tells what a backend says of an invocation under way.
func (t *teller) progress(run *state.Run, a *state.Agent, p Progress) {
	if p.Note != "" {
		t.reporter.Note("", "", t.redact(p.Note))
		return
	}
	if p.Tool != nil {
		t.reporter.Doing(a.ID, a.State, Progress{Tool: &ToolUse{Name: t.redact(p.Tool.Name), Input: t.redact(p.Tool.Input)}})
		return
	}
	p.Text, p.Doing = t.redact(p.Text), t.redact(p.Doing)
	isLine := p.Text != "" || p.Doing == ""
	if isLine && t.say(run, a, p.Text) || t.telling == TellNothing {
		p.Text = ""
	}
	if p != (Progress{}) {
		t.reporter.Doing(a.ID, a.State, p)
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
	if t.telling != TellAll && !x.Takes(text) {
		return false
	}
	t.tell(run, a, text)
	return true
}

// tell makes a line an event, or shows it only to those who watch.
func (t *teller) tell(run *state.Run, a *state.Agent, text string) {
	if t.telling == TellNothing {
		t.reporter.Doing(a.ID, a.State, Progress{Text: text})
		return
	}
	t.reporter.Report(run.UnsavedEvent(t.now(), a, &state.AgentOutput{Text: text}))
}

// note tells what was odd but no failure. It is an event only where all that
// agents print is one.
func (t *teller) note(run *state.Run, a *state.Agent, text string) {
	if text = t.redact(text); t.telling == TellAll {
		t.say(run, a, "note: "+text)
		return
	}
	t.reporter.Note(a.ID, a.State, text)
}
