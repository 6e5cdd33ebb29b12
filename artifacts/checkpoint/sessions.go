package checkpoint

import (
	"cmp"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// Session is a conversation and its possible working directories.
type Session struct {
	ID      string
	Backend string   // agent CLI of the conversation; its name is in protocol.Backends
	CLIID   string   // id that the agent CLI itself uses for the conversation, as in state.Session
	Dirs    []string // absolute paths, the most likely one first; never empty
}

// Sessions returns every conversation that a resumed run may continue or branch from. Each occurs once, in
// the order of the agents. The last one is the final conversation of the agent main, if the run recorded it so
// that a GitHub comment can continue it. Sessions omits conversations of other agents that have ended, and of
// failed attempts that nothing refers to.
func Sessions(run *state.Run) []Session {
	c := &sessionList{}
	for _, a := range run.Agents {
		// An agent that changed its directory may still return to a conversation of its caller, or branch from the
		// conversation of its parent. So each session gets all directories of the agent. The first is the current
		// directory or, for a caller's session, the caller's.
		dirs := []string{cmp.Or(a.Dir, run.Dir)}
		for _, f := range slices.Backward(a.Stack) {
			dirs = append(dirs, cmp.Or(f.Dir, run.Dir))
		}
		dirs = append(dirs, run.Dir)
		if e := a.Exec; e != nil {
			c.session(e.Session, dirs)
			if r := e.Running; r != nil {
				c.add(Session{ID: r.SessionID, Backend: r.BackendName(), CLIID: r.CLIID}, dirs)
				c.add(Session{ID: r.From, Backend: r.BackendName(), CLIID: r.FromCLIID}, dirs)
			}
		}
		c.session(a.Session, dirs)
		for _, f := range slices.Backward(a.Stack) {
			c.session(f.Session, append([]string{cmp.Or(f.Dir, run.Dir)}, dirs...))
		}
	}
	if last := run.Last; last != nil {
		c.session(last.Session, []string{cmp.Or(last.Dir, run.Dir), run.Dir})
	}
	return c.all
}

// sessionList collects sessions.
type sessionList struct{ all []Session }

// session adds a session, if s is not nil.
func (c *sessionList) session(s *state.Session, dirs []string) {
	if s != nil {
		c.add(Session{ID: s.ID, Backend: s.BackendName(), CLIID: s.CLIID}, dirs)
	}
}

// add adds a session or, if the list contains it already, adds directories to it.
func (c *sessionList) add(session Session, dirs []string) {
	if session.ID == "" {
		return
	}
	n := slices.IndexFunc(c.all, func(s Session) bool { return s.ID == session.ID })
	if n < 0 {
		n = len(c.all)
		c.all = append(c.all, session)
	}
	s := &c.all[n]
	s.CLIID = cmp.Or(s.CLIID, session.CLIID)
	for _, dir := range dirs {
		if !slices.Contains(s.Dirs, dir) {
			s.Dirs = append(s.Dirs, dir)
		}
	}
}
