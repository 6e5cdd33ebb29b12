package runner

import (
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
	excerpts excerpts
}

// excerpts are the first and last lines of the state executions under way, by
// agent.
type excerpts map[string]*Excerpt

// takes reports whether a line is told now. One that is not may be among the last
// lines, which are told when the execution ends.
func (e excerpts) takes(agent, line string) bool {
	r, ok := e[agent]
	if !ok {
		r = &Excerpt{First: saidFirst, Last: saidLast}
		e[agent] = r
	}
	return r.Takes(line)
}

// ended returns the agents whose execution a step ends; all of them when it is the
// last step.
func (e excerpts) ended(step *state.Step, isLast bool) []string {
	var agents []string
	for id := range e {
		a, ok := step.Agent(id)
		if isLast || !ok || a.Exec == nil || a.Status == state.Stuck {
			agents = append(agents, id)
		}
	}
	slices.Sort(agents)
	return agents
}

// endExcerpts tells the last lines of the executions that a step ends.
func (t *teller) endExcerpts(run *state.Run, step *state.Step, isLast bool) {
	for _, id := range t.excerpts.ended(step, isLast) {
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
	if t.telling != TellAll && !t.excerpts.takes(a.ID, text) {
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

// noteStarts tells what people should know of the invocations that a step has started.
func (t *teller) noteStarts(run *state.Run, starts []start) {
	for _, s := range starts {
		if a, ok := run.Agent(s.order.Agent); ok && s.note != "" {
			t.note(run, a, s.note)
		}
	}
}
