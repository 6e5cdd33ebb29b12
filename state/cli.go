package state

import (
	"cmp"
	"fmt"

	"github.com/raymond-action/raymond-action/protocol"
)

// CLI is what the decision about a conversation needs to know of the agent CLI that runs a
// state.
type CLI struct {
	Name      string // one of protocol.Backends
	Resumes   bool   // a conversation can be continued by a later process
	Branches  bool   // and branched
	ChoosesID bool   // a new conversation gets our id; otherwise the CLI tells its own, or none
}

// resumes reports whether a conversation of the CLI can be continued.
func (c CLI) resumes(s *Session) bool { return c.Resumes && (c.ChoosesID || s.CLIID != "") }

// branches reports whether a conversation of the CLI can be branched.
func (c CLI) branches(s *Session) bool { return c.Branches && (c.ChoosesID || s.CLIID != "") }

// check says why an agent can't start a state with the CLI in a conversation; "" when it can.
// called says that the conversation is a caller's, which must not be changed.
func (c CLI) check(state string, s *Session, called bool) string {
	switch owner := s.BackendName(); {
	case s == nil:
		return ""
	case owner != c.Name:
		return fmt.Sprintf("the state %s is run by the agent %s, but the conversation that continues there belongs to %s; "+
			"reach the state by <reset>, <function> or <fork>, or let %s run it", state, c.Name, owner, owner)
	case called && !c.branches(s):
		return fmt.Sprintf("<call> needs a branch of the caller's conversation, but the agent %s can't branch it, since %s; "+
			"use <function> instead", c.Name, c.lacks())
	}
	return ""
}

// lacks says why a conversation of the CLI can't be continued or branched.
func (c CLI) lacks() string {
	if c.Resumes && c.Branches {
		return "it told no session"
	}
	return "it has no way to do so"
}

// noteFresh is what people are told of a conversation that can't be continued.
func (c CLI) noteFresh() string {
	return fmt.Sprintf("the agent %s can't continue its conversation, since %s: the state starts a new one", c.Name, c.lacks())
}

// RunBy returns the name of the agent CLI that runs the agent's next prompt in a state: the
// one that its function tag names, or that the state names, or else the one to which the
// agent's conversation belongs, or else that of the run.
func (a *Agent) RunBy(st *protocol.State, o *Options) string {
	if named := cmp.Or(a.Backend, st.Policy.Backend); named != "" {
		return named
	}
	if a.Exec != nil && a.Exec.Session != nil {
		return a.Exec.Session.BackendName()
	}
	if a.Session != nil {
		return a.Session.BackendName()
	}
	return o.BackendName()
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

func backendName(kept string) string { return cmp.Or(kept, protocol.BackendClaude) }

// keptBackend is how the name of an agent CLI is kept: that of the default one as "", as in
// the files of programs that knew no other.
func keptBackend(name string) string {
	if name == protocol.BackendClaude {
		return ""
	}
	return name
}
