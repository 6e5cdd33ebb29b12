package insight

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// conversation is a conversation of an agent CLI, and the executions that it belongs to.
type conversation struct {
	runner.Conversation
	backend string
	begins  []begin // an execution may be in several conversations
}

// begin is when an execution began that speaks in a conversation.
type begin struct {
	exec int
	time time.Time
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
			p.of(i.SessionID).begin(e.Iteration, e.Started)
		}
	}
}

// execution takes what events tell of an execution's conversation.
func (p *places) execution(x *Exec, backends map[string]string) {
	if x.SessionID == "" {
		return
	}
	c := p.of(x.SessionID)
	c.Dir = cmp.Or(c.Dir, x.Cwd)
	if c.backend == "" && x.AgentCLI != "" {
		c.backend = protocol.DefaultBackend
		for title, backend := range backends {
			if strings.HasPrefix(x.AgentCLI, title+" ") {
				c.backend = backend
			}
		}
	}
	c.begin(x.N, x.Started)
}

// begin notes that an execution speaks in a conversation.
func (c *conversation) begin(exec int, at time.Time) {
	if !slices.ContainsFunc(c.begins, func(b begin) bool { return b.exec == exec }) {
		c.begins = append(c.begins, begin{exec, at})
	}
}

// owner returns the execution that a message belongs to, the last one that had begun by then, 0
// for none: it was copied from another conversation. last is that of the message before it.
func (c *conversation) owner(m runner.Message, last int) int {
	if m.Time.IsZero() {
		return last
	}
	newest := begin{}
	for _, b := range c.begins {
		if !b.time.After(m.Time) && !b.time.Before(newest.time) {
			newest = b
		}
	}
	return newest.exec
}
