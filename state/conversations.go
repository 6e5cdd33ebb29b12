package state

// TranscriptLength returns how many bytes of a conversation's transcript the run needs. It returns -1 if
// the length is unknown; the run then needs the whole transcript.
func (r *Run) TranscriptLength(session string) int64 {
	length := int64(-1)
	r.EachSession(func(s *Session, _ string) {
		if s.ID == session && s.End != nil {
			length = max(length, *s.End)
		}
	})
	return length
}

// RenameSession replaces the id of the conversation session by id, and the agent CLI's own id by cliID.
// It changes r, which no other goroutine may use at the same time.
func (r *Run) RenameSession(session, id, cliID string) {
	r.EachSession(func(s *Session, _ string) {
		if s.ID == session {
			s.ID, s.CLIID = id, cliID
		}
	})
}

// EachSession calls do for every conversation that the run may continue or copy. If the run refers to a
// conversation several times, it calls do for each reference. dir is the directory of the agent that
// refers to the conversation; "" means Run.Dir.
func (r *Run) EachSession(do func(s *Session, dir string)) {
	each := func(s *Session, dir string) {
		if s != nil {
			do(s, dir)
		}
	}
	for _, a := range r.Agents {
		for _, f := range a.Stack {
			each(f.Session, f.Dir)
		}
		each(a.Session, a.Dir)
		if a.Exec != nil {
			each(a.Exec.Session, a.Dir)
		}
	}
	if r.Last != nil {
		each(r.Last.Session, r.Last.Dir)
	}
}

// ForgetConversations drops the conversations for which lost returns true. Agents that would resume or
// copy them begin a new conversation instead. It changes r, which no other goroutine may use at the same
// time.
func (r *Run) ForgetConversations(lost func(session string) bool) {
	for _, a := range r.Agents {
		if a.Session != nil && lost(a.Session.ID) {
			a.Session, a.Branch, a.Cut = nil, false, nil
			if a.Exec != nil {
				a.Exec.Cut, a.Exec.EntryLen = nil, nil
			}
		}
		for i := range a.Stack {
			if f := &a.Stack[i]; f.Session != nil && lost(f.Session.ID) {
				f.Session, f.Branch = nil, false
			}
		}
		if e := a.Exec; e != nil && e.Session != nil && lost(e.Session.ID) {
			e.Session, e.Cut, e.Reminder, e.Continue = nil, nil, "", false
		}
		// The length belongs to the lost transcript with which the invocation began.
		if e := a.Exec; e != nil && e.Running != nil && (lost(e.Running.SessionID) || lost(e.Running.From)) {
			e.Running.Length = nil
		}
	}
	if l := r.Last; l != nil && l.Session != nil && lost(l.Session.ID) {
		l.Session = nil
	}
}
