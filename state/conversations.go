package state

// Conversations are those that a run may continue or branch from.
type Conversations struct{ run *Run }

// Conversations returns the conversations of the run.
func (r *Run) Conversations() Conversations { return Conversations{r} }

// Length returns how much of the transcript of a conversation the run needs, in bytes; -1 for
// all of it, where that is not known.
func (c Conversations) Length(session string) int64 {
	length := int64(-1)
	c.each(func(s *Session) {
		if s.ID == session && s.End != nil {
			length = max(length, *s.End)
		}
	})
	return length
}

// Rename gives a conversation another id, and the agent CLI's own one of that. It changes the
// run, which nobody else may use meanwhile.
func (c Conversations) Rename(session, id, cliID string) {
	c.each(func(s *Session) {
		if s.ID == session {
			s.ID, s.CLIID = id, cliID
		}
	})
}

// each calls f with each place of the run that names a conversation.
func (c Conversations) each(f func(*Session)) {
	each := func(s *Session) {
		if s != nil {
			f(s)
		}
	}
	for _, a := range c.run.Agents {
		each(a.Session)
		for i := range a.Stack {
			each(a.Stack[i].Session)
		}
		if a.Exec != nil {
			each(a.Exec.Session)
		}
	}
	if c.run.Last != nil {
		each(c.run.Last.Session)
	}
}
