package insight

import (
	"cmp"
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
	// begins has where each execution began to speak in it, in order. An execution may be in
	// several conversations, and begin in one again after it was cut back.
	begins []begin
}

// begin is where an execution began to speak in a conversation.
type begin struct {
	exec int
	time time.Time
	// from is an offset in the transcript; -1 when nobody has kept it, so that the times of
	// messages tell.
	from int64
	// isBranch says that the conversation began as a copy of another one, so that what is
	// older than the execution was said there.
	isBranch bool
}

// places are the conversations of a run.
type places struct {
	byID map[string]*conversation
	all  []*conversation // in the order in which they were first seen
}

// of returns a conversation.
func (p *places) of(id string) *conversation {
	c := p.byID[id]
	if c == nil {
		c = &conversation{Conversation: runner.Conversation{ID: id}}
		p.byID[id] = c
		p.all = append(p.all, c)
	}
	return c
}

// name takes what the run knows of a conversation.
func (p *places) name(s *state.Session) {
	if s == nil || s.ID == "" {
		return
	}
	c := p.of(s.ID)
	c.backend, c.CLI = s.BackendName(), cmp.Or(s.CLIID, c.CLI)
}

// agent takes what an agent knows of conversations at some moment.
func (p *places) agent(a *state.Agent) {
	p.name(a.Session)
	for i := range a.Stack {
		p.name(a.Stack[i].Session)
	}
	if e := a.Exec; e != nil {
		p.name(e.Session)
		if i := e.Running; i != nil && i.SessionID != "" {
			p.name(&state.Session{ID: i.SessionID, Backend: i.Backend, CLIID: i.CLIID})
			p.name(&state.Session{ID: i.From, Backend: i.Backend, CLIID: i.FromCLIID})
		}
	}
}

// execution takes what events tell of an execution's conversation.
func (p *places) execution(x *report.Exec) {
	if x.SessionID == "" {
		return
	}
	c := p.of(x.SessionID)
	c.Dir = cmp.Or(c.Dir, x.Cwd)
	if !slices.ContainsFunc(c.begins, func(b begin) bool { return b.exec == x.N }) {
		c.begins = append(c.begins, begin{exec: x.N, time: x.Started, from: -1})
	}
}

// owner returns the execution that a message belongs to, 0 for none; last is that of the
// message before it.
func (c *conversation) owner(m runner.Message, last int) int {
	marked, timed := begin{}, begin{}
	for _, b := range c.begins {
		switch {
		case b.from >= 0 && b.from <= m.Offset:
			marked = b
		case b.from < 0 && !b.time.After(m.Time):
			timed = b
		}
	}
	switch {
	case marked.exec > 0 && marked.isBranch && m.Time.Before(marked.time):
		return 0
	case marked.exec > 0:
		return marked.exec
	case m.Time.IsZero():
		return last
	}
	return timed.exec
}
