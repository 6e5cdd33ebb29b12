package state

import (
	"cmp"
	"fmt"

	"github.com/raymond-action/raymond-action/protocol"
)

// CLI is what the decision about a conversation needs to know of the agent CLI that runs a
// state.
type CLI struct {
	Name             string // one of protocol.Backends
	AcceptsSessionID bool   // a new conversation gets our id; otherwise the CLI tells its own, or none
}

// limit changes a plan to what the CLI can do. called says that the agent was called, so that
// the conversation is its caller's.
func (c CLI) limit(p Plan, state string, called bool) Plan {
	s := p.Session
	isUnknown := s != nil && !c.AcceptsSessionID && s.CLIID == ""
	switch owner := s.BackendName(); {
	case s == nil:
	case owner != c.Name:
		p.FailureReason = fmt.Sprintf("the state %s is run by the agent %s, but the conversation that continues there belongs to the agent %s; "+
			"reach the state by <reset>, <function> or <fork>, or let the same agent run both states", state, c.Name, owner)
	case called && p.Mode == Branch && isUnknown:
		p.FailureReason = fmt.Sprintf("the state %s was reached by <call>, which branches the conversation of the caller, but the agent %s can't branch it, since it told no session; "+
			"use <function> instead", state, c.Name)
	case (p.Mode == Resume || p.Mode == Branch) && isUnknown:
		return Plan{Mode: Fresh, Backend: p.Backend, Note: fmt.Sprintf(
			"the agent %s can't continue its conversation, since it told no session: the state %s begins a new one", c.Name, state)}
	}
	if p.Mode == Fresh {
		p.Session = nil
	}
	return p
}

// BackendFor returns the name of the agent CLI that runs the agent's next prompt in a state: the
// one that its function tag names, or else the state, or else the one to which the agent's
// conversation belongs, or else the run's.
func (a *Agent) BackendFor(st *protocol.State, o *Options) string {
	held := a.Session
	if a.Exec != nil && a.Exec.Session != nil {
		held = a.Exec.Session
	}
	return cmp.Or(a.Backend, st.Policy.Backend, held.BackendName(), o.BackendName())
}

// BackendName returns the name of the agent CLI of the run's states that name none.
func (o *Options) BackendName() string { return backendName(o.Backend) }

// BackendName returns the name of the agent CLI that the conversation belongs to. No
// session has no name.
func (s *Session) BackendName() string {
	if s == nil {
		return ""
	}
	return backendName(s.Backend)
}

// BackendName returns the name of the agent CLI of the invocation.
func (i *Invocation) BackendName() string { return backendName(i.Backend) }

func backendName(kept string) string { return cmp.Or(kept, protocol.DefaultBackend) }
