package state

import (
	"cmp"
	"fmt"

	"github.com/raymond-action/raymond-action/protocol"
)

// CLI describes the properties of an agent CLI that matter for conversations.
type CLI struct {
	Name string // an element of protocol.Backends
	// AcceptsSessionID is set if a new conversation gets the id that raymond chose. Otherwise the CLI
	// chooses the id, and may report it or not.
	AcceptsSessionID bool
}

// limit adapts a plan to the abilities of the CLI, or sets FailureReason if that is not possible. called is
// true if the agent reached the state by <call>. The conversation then belongs to the caller.
func (c CLI) limit(p Plan, state string, called bool) Plan {
	s := p.Session
	isUnknown := s != nil && !c.AcceptsSessionID && s.CLIID == ""
	switch owner := s.BackendName(); {
	case s == nil:
	case owner != c.Name:
		p.FailureReason = fmt.Sprintf("the state %s is run by the agent %s, but the conversation that continues there belongs to the agent %s; "+
			"reach the state by <reset>, <function> or <fork>, or let the same agent run both states", state, c.Name, owner)
	case called && p.Mode == Branch && isUnknown:
		p.FailureReason = fmt.Sprintf("the state %s was reached by <call>, which branches the conversation of the caller, but the agent %s can't branch it, because it reported no session id; "+
			"use <function> instead", state, c.Name)
	case (p.Mode == Resume || p.Mode == Branch) && isUnknown:
		return Plan{Mode: Fresh, Backend: p.Backend, Note: fmt.Sprintf(
			"the agent %s can't continue its conversation, because it reported no session id: the state %s begins a new one", c.Name, state)}
	}
	if p.Mode == Fresh {
		p.Session = nil
	}
	return p
}

// BackendFor returns the name of the agent CLI that runs the agent's next prompt in the state st. It tries
// the following in this order: the CLI named by the agent's function tag, the CLI named by the state, the
// CLI of the agent's conversation, and the run's default.
func (a *Agent) BackendFor(st *protocol.State, o *Options) string {
	held := a.Session
	if a.Exec != nil && a.Exec.Session != nil {
		held = a.Exec.Session
	}
	return cmp.Or(a.Backend, st.Policy.Backend, held.BackendName(), o.BackendName())
}

// BackendName returns the name of the run's default agent CLI.
func (o *Options) BackendName() string { return backendName(o.Backend) }

// BackendName returns the name of the agent CLI to which the conversation belongs. It returns "" if s is
// nil.
func (s *Session) BackendName() string {
	if s == nil {
		return ""
	}
	return backendName(s.Backend)
}

// BackendName returns the name of the agent CLI that the invocation runs.
func (i *Invocation) BackendName() string { return backendName(i.Backend) }

// backendName returns kept, or the name of the default agent CLI if kept is empty.
func backendName(kept string) string { return cmp.Or(kept, protocol.DefaultBackend) }
