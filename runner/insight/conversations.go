package insight

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// conversation is a conversation with an agent CLI. starts lists the executions that used it.
type conversation struct {
	runner.Conversation
	backend string
	starts  []start
}

// start records where an execution began to use a conversation. An execution may use several
// conversations.
type start struct {
	exec int
	time time.Time
	from int64 // offset in the transcript, or unknownOffset
}

// unknownOffset means that the offset in the transcript was not recorded.
const unknownOffset = math.MaxInt64

// conversations contains the conversations of a run.
type conversations struct {
	byID map[string]*conversation
	all  []*conversation // in the order in which they were added
}

// readConversations collects the conversations of a run from its state and from its history, if
// that is available. It also sets Answer in waits, since only the history contains the answers. If
// the history can't be read completely, it returns the error and the conversations found so far.
func readConversations(s Source, waits []report.Wait) (p *conversations, err error) {
	p = &conversations{byID: map[string]*conversation{}}
	if s.History != nil {
		var step journal.Step
		for step, err = range s.History {
			switch {
			case err != nil:
			case step.Begins:
				p.addAgents(step.Run.Agents)
			default:
				p.addAgents(step.Delta.Agents)
				setAnswers(waits, step.Delta, s.Hide)
			}
		}
	}
	p.addAgents(s.Run.Agents)
	if s.Run.Last != nil {
		p.addSession(s.Run.Last.Session)
	}
	return p, err
}

// setAnswers sets the answers of those waits that a step of the history has ended.
func setAnswers(waits []report.Wait, d *state.Delta, hide func(string) string) {
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

// addAgents adds the conversations of agents at one moment of the run. Calls must be in
// chronological order.
func (p *conversations) addAgents(agents []*state.Agent) {
	for _, a := range agents {
		p.addSession(a.Session)
		for i := range a.Stack {
			p.addSession(a.Stack[i].Session)
		}
		e := a.Exec
		if e == nil {
			continue
		}
		p.addSession(e.Session)
		if i := e.Running; i != nil {
			p.addSession(&state.Session{ID: i.SessionID, Backend: i.Backend, CLIID: i.CLIID})
			p.addSession(&state.Session{ID: i.From, Backend: i.Backend, CLIID: i.FromCLIID})
			from := int64(0)
			if i.Length != nil {
				from = *i.Length
			} else if i.Mode == state.Resume {
				from = unknownOffset
			}
			p.addStart(i.SessionID, start{e.Iteration, e.Started, from})
		}
	}
}

// get returns the conversation with an id. It adds the conversation if it is new.
func (p *conversations) get(id string) *conversation {
	c := p.byID[id]
	if c == nil {
		c = &conversation{Conversation: runner.Conversation{ID: id}}
		p.byID[id] = c
		p.all = append(p.all, c)
	}
	return c
}

// addSession adds the data in the run's state about a conversation. It does nothing if s has no id.
func (p *conversations) addSession(s *state.Session) {
	if s != nil && s.ID != "" {
		c := p.get(s.ID)
		c.backend, c.CLI = s.BackendName(), cmp.Or(s.CLIID, c.CLI)
	}
}

// addStart records that an execution started to use a conversation. It keeps only the first start of
// each execution. It does nothing if id is empty.
func (p *conversations) addStart(id string, b start) {
	if id == "" {
		return
	}
	c := p.get(id)
	if !slices.ContainsFunc(c.starts, func(other start) bool { return other.exec == b.exec }) {
		c.starts = append(c.starts, b)
	}
}

// owner returns the number of the execution that a message belongs to, or 0 if it belongs to no
// execution. The message belongs to the last execution that started to use the conversation before
// the time of the message. Messages at the beginning of a branch or a rerun were copied, and belong
// to no execution.
//
// If the message has no time, its offset in the transcript is compared instead. If no execution
// started before that offset, the message belongs to last, the execution of the previous message.
func (c *conversation) owner(m runner.Message, last int) int {
	newest := start{exec: last}
	if !m.Time.IsZero() {
		newest.exec = 0
	}
	for _, b := range c.starts {
		isTimed := !m.Time.IsZero() && !b.time.After(m.Time) && !b.time.Before(newest.time)
		if isTimed || m.Time.IsZero() && b.from <= m.Offset {
			newest = b
		}
	}
	return newest.exec
}
