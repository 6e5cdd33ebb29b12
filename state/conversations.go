package state

// TranscriptLength returns how much of the transcript of a conversation the run needs, in bytes; -1 for
// all of it, where that is not known.
func (r *Run) TranscriptLength(session string) int64 {
	length := int64(-1)
	r.eachSession(func(s *Session, _ string) {
		if s.ID == session && s.End != nil {
			length = max(length, *s.End)
		}
	})
	return length
}

// RenameSession gives a conversation another id, and the agent CLI's own one of that. It changes the
// run, which nobody else may use meanwhile.
func (r *Run) RenameSession(session, id, cliID string) {
	r.eachSession(func(s *Session, _ string) {
		if s.ID == session {
			s.ID, s.CLIID = id, cliID
		}
	})
}

// eachSession calls do with the conversations that the run may continue or branch from, each as often as it is
// named, with the directory of whoever has it; "" for the run's own.
func (r *Run) eachSession(do func(s *Session, dir string)) {
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

// ForgetConversations drops the conversations for which lost reports true: agents that would resume
// or branch one of them begin a new one instead. It changes r, which nobody else may
// use meanwhile.
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
		// A length is that of the transcript with which the invocation began.
		if e := a.Exec; e != nil && e.Running != nil && (lost(e.Running.SessionID) || lost(e.Running.From)) {
			e.Running.Length = nil
		}
	}
	if l := r.Last; l != nil && l.Session != nil && lost(l.Session.ID) {
		l.Session = nil
	}
}
