package insight

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// conversation is a conversation of an agent CLI, and the executions that it belongs to.
type conversation struct {
	runner.Conversation
	backend string
	begins  []begin
}

// begin is when and where an execution began to speak in a conversation. It may do so in several.
type begin struct {
	exec int
	time time.Time
	from int64 // an offset in the transcript; unknown where nobody has kept it
}

const unknown = math.MaxInt64

// past is what is known of a run's conversations.
type past struct {
	byID map[string]*conversation
	all  []*conversation // in the order in which they were first seen
}

// pastOf reads the history of a run, as far as it is kept, and the run itself. It gives the answers
// that the history has to the waits that they ended.
func pastOf(s Source, waits []report.Wait) (p *past, err error) {
	p = &past{byID: map[string]*conversation{}}
	if s.History != nil {
		var step state.HistoryStep
		for step, err = range s.History {
			switch {
			case err != nil:
			case step.Begins:
				p.add(step.Run.Agents)
			default:
				p.add(step.Delta.Agents)
				answer(waits, step.Delta, s.Hide)
			}
		}
	}
	p.add(s.Run.Agents)
	if s.Run.Last != nil {
		p.name(s.Run.Last.Session)
	}
	return p, err
}

// answer gives the answers that a step has brought to the waits that they ended.
func answer(waits []report.Wait, d *state.Delta, hide func(string) string) {
	for _, e := range d.Events {
		if _, ok := e.Body.(*state.AgentGoesOn); !ok {
			continue
		}
		a := slices.IndexFunc(d.Agents, func(a *state.Agent) bool { return a.ID == e.Agent })
		w := slices.IndexFunc(waits, func(w report.Wait) bool { return w.For == state.ForAnswer && w.Agent == e.Agent && w.To.Equal(e.Time) })
		if a >= 0 && w >= 0 {
			waits[w].Answer = hide(string(d.Agents[a].Payload))
		}
	}
}

// add takes agents as they were at some moment, in the order of moments.
func (p *past) add(agents []*state.Agent) {
	for _, a := range agents {
		p.name(a.Session)
		for i := range a.Stack {
			p.name(a.Stack[i].Session)
		}
		e := a.Exec
		if e == nil {
			continue
		}
		p.name(e.Session)
		if i := e.Running; i != nil {
			p.name(&state.Session{ID: i.SessionID, Backend: i.Backend, CLIID: i.CLIID})
			p.name(&state.Session{ID: i.From, Backend: i.Backend, CLIID: i.FromCLIID})
			from := int64(0)
			if i.Length != nil {
				from = *i.Length
			} else if i.Mode == state.Resume {
				from = unknown
			}
			p.begin(i.SessionID, begin{e.Iteration, e.Started, from})
		}
	}
}

// of returns a conversation.
func (p *past) of(id string) *conversation {
	c := p.byID[id]
	if c == nil {
		c = &conversation{Conversation: runner.Conversation{ID: id}}
		p.byID[id] = c
		p.all = append(p.all, c)
	}
	return c
}

// name takes what the run knows of a conversation; none has no id.
func (p *past) name(s *state.Session) {
	if s != nil && s.ID != "" {
		c := p.of(s.ID)
		c.backend, c.CLI = s.BackendName(), cmp.Or(s.CLIID, c.CLI)
	}
}

// begin notes that an execution speaks in a conversation; none has no id.
func (p *past) begin(id string, b begin) {
	if id == "" {
		return
	}
	c := p.of(id)
	if !slices.ContainsFunc(c.begins, func(other begin) bool { return other.exec == b.exec }) {
		c.begins = append(c.begins, b)
	}
}

// owner returns the execution that a message belongs to: the last one that began before it, 0 for none. What a
// branch has copied, or a run that began as a copy, belongs to nobody. Where a transcript tells no
// times, the place of a message decides, and else that it follows one of the execution last.
func (c *conversation) owner(m runner.Message, last int) int {
	newest := begin{exec: last}
	if !m.Time.IsZero() {
		newest.exec = 0
	}
	for _, b := range c.begins {
		isTimed := !m.Time.IsZero() && !b.time.After(m.Time) && !b.time.Before(newest.time)
		if isTimed || m.Time.IsZero() && b.from <= m.Offset {
			newest = b
		}
	}
	return newest.exec
}
