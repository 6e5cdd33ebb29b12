package insight

import (
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// past is what the history of a run tells beyond its events.
type past struct {
	places  *places
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

// add takes agents as they were at some moment.
func (p *past) add(agents []*state.Agent) {
	for _, a := range agents {
		p.places.agent(a)
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
func (p *past) giveAnswers(waits []Wait) {
	for i := range waits {
		if w := &waits[i]; w.For == string(state.ForAnswer) && !w.To.IsZero() {
			w.Answer = p.answers[answer{w.Agent, w.To}]
		}
	}
}
