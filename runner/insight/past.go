package insight

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// past is what the history of a run tells beyond its events.
type past struct {
	places  *places
	seen    int               // the highest number of an invocation so far
	answers map[answer]string // the texts, masked
}

// answer tells one wait for an answer from another.
type answer struct {
	agent string
	ended time.Time
}

// pastOf reads the history of a run, as far as it is kept, and the run itself.
func pastOf(s Source) (*past, error) {
	p := &past{places: &places{byID: map[string]*conversation{}}, answers: map[answer]string{}}
	if s.History != nil {
		for step, err := range s.History {
			if err != nil {
				p.add(s.Run.Agents)
				return p, err
			}
			if step.Delta == nil {
				p.add(step.Run.Agents)
				continue
			}
			p.add(step.Delta.Agents)
			p.answer(step.Delta, s.Hide)
		}
	}
	p.add(s.Run.Agents)
	if s.Run.Last != nil {
		p.places.name(s.Run.Last.Session)
	}
	return p, nil
}

// add takes agents as they were at some moment, in the order of moments.
func (p *past) add(agents []*state.Agent) {
	for _, a := range agents {
		p.places.agent(a)
	}
	started := slices.DeleteFunc(slices.Clone(agents), func(a *state.Agent) bool {
		return a.Exec == nil || a.Exec.Running == nil || a.Exec.Running.N <= p.seen
	})
	slices.SortFunc(started, func(a, b *state.Agent) int { return a.Exec.Running.N - b.Exec.Running.N })
	for _, a := range started {
		p.seen = a.Exec.Running.N
		p.places.invocation(a.Exec)
	}
}

// answer notes the answers that a step has brought.
func (p *past) answer(d *state.Delta, hide func(string) string) {
	for _, e := range d.Events {
		if _, ok := e.Body.(*state.AgentGoesOn); !ok {
			continue
		}
		for _, a := range d.Agents {
			if a.ID == e.Agent {
				p.answers[answer{e.Agent, e.Time}] = hide(string(a.Payload))
			}
		}
	}
}

// giveAnswers adds the texts of answers to the waits that they ended.
func (p *past) giveAnswers(waits []report.Wait) {
	for i := range waits {
		if w := &waits[i]; w.For == state.ForAnswer && !w.To.IsZero() {
			w.Answer = p.answers[answer{w.Agent, w.To}]
		}
	}
}

// invocation notes where an invocation of an execution begins to speak.
func (p *places) invocation(e *state.Exec) {
	i := e.Running
	if i.SessionID == "" {
		return
	}
	c, from := p.of(i.SessionID), int64(0)
	switch {
	case i.Length != nil:
		from = *i.Length
	case i.Mode == state.Resume:
		from = -1
	}
	if n := len(c.begins); n > 0 && c.begins[n-1].exec == e.Iteration && from >= c.begins[n-1].from {
		return
	}
	// What was said after the place to which the conversation was cut back is gone.
	c.begins = slices.DeleteFunc(c.begins, func(b begin) bool { return from >= 0 && b.from >= from })
	c.begins = append(c.begins, begin{exec: e.Iteration, time: e.Started, from: from, isBranch: i.Mode == state.Branch})
}
