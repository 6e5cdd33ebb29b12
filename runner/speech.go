package runner

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner/internal/reel"
	"github.com/raymond-action/raymond-action/state"
)

// maxSaid is how much of a line that an agent says is told, in characters.
const maxSaid = 2000

// What is told of a state execution, but with TellAll: 500 lines, with the one on those
// left out, and 256 KiB.
var (
	saidFirst = reel.Limit{Lines: 450, Bytes: 224 << 10}
	saidLast  = reel.Limit{Lines: 49, Bytes: 32 << 10}
)

// speeches are what was said in the state executions under way, by agent.
type speeches map[string]*reel.Reel

// takes reports whether a line is told now. One that is not counts as one of the
// last, which are told when the execution ends.
func (s speeches) takes(agent, line string) bool {
	r, ok := s[agent]
	if !ok {
		r = &reel.Reel{First: saidFirst, Last: saidLast}
		s[agent] = r
	}
	return r.Takes(line)
}

// over returns the agents whose execution step ends; all of them when it leaves
// nothing to do.
func (s speeches) over(step *state.Step, rests bool) []string {
	var agents []string
	for id := range s {
		a, ok := step.Agent(id)
		if rests || !ok || a.Exec == nil || a.Status == state.Stuck {
			agents = append(agents, id)
		}
	}
	slices.Sort(agents)
	return agents
}

// heard takes in what a backend tells of an invocation under way.
func (r *Runner) heard(a *state.Agent, p Progress) {
	if p.Note != "" {
		r.cfg.Reporter.Note("", "", r.redact(p.Note))
		return
	}
	p.Text, p.Doing = r.redact(p.Text), r.redact(p.Doing)
	isLine := p.Text != "" || p.Doing == ""
	if isLine && r.say(a, p.Text) || r.cfg.Telling == TellNothing {
		p.Text = ""
	}
	if p != (Progress{}) {
		r.cfg.Reporter.Doing(a.ID, a.State, p)
	}
}

// say tells a line about an agent that is part of no step, and reports false
// when there was too much before it.
func (r *Runner) say(a *state.Agent, text string) bool {
	if len(text) > maxSaid {
		if runes := []rune(text); len(runes) > maxSaid {
			text = string(runes[:maxSaid])
		}
	}
	if r.cfg.Telling != TellAll && !r.said.takes(a.ID, text) {
		return false
	}
	r.tellSaid(r.now(), a, text)
	return true
}

// tellSaid tells a line as an event, or to those only who watch.
func (r *Runner) tellSaid(now time.Time, a *state.Agent, text string) {
	if r.cfg.Telling == TellNothing {
		r.cfg.Reporter.Doing(a.ID, a.State, Progress{Text: text})
		return
	}
	r.cfg.Reporter.Report(r.run.Say(now, a.ID, a.State, &state.AgentOutput{Text: text}))
}

// note tells what was odd but no fault. As an event only where all of what
// agents print is one.
func (r *Runner) note(a *state.Agent, text string) {
	if text = r.redact(text); r.cfg.Telling == TellAll {
		r.say(a, "note: "+text)
		return
	}
	r.cfg.Reporter.Note(a.ID, a.State, text)
}

// step makes the next step. When it ends executions of which not all was told,
// their last words come first: the events of a step have their numbers from
// the beginning, so it is then made once more.
func (r *Runner) step(decide func(*state.Step)) *state.Step {
	now := r.now()
	step := r.run.Step(now)
	decide(step)
	before := r.run.Progress.Events
	for _, id := range r.said.over(step, r.rests(step)) {
		if a, ok := r.run.Agent(id); ok {
			r.said[id].Each(func(line string) { r.tellSaid(now, a, line) })
		}
		delete(r.said, id)
	}
	if r.run.Progress.Events == before {
		return step
	}
	step = r.run.Step(now)
	decide(step)
	return step
}

// rests reports whether nothing can follow a step: nothing runs, and nothing may
// start, now or later.
func (r *Runner) rests(step *state.Step) bool {
	if r.busy > 0 {
		return false
	}
	_, ready := step.Next(0)
	return r.stop != nil || !ready && step.WakeTime().IsZero()
}
