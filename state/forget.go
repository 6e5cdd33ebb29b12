package state

// Forget drops the conversations for which lost reports true: agents that would resume
// or branch one of them begin a new one instead. It changes r, which nobody else may
// use meanwhile.
func (r *Run) Forget(lost func(session string) bool) {
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
		a.Exec.forget(lost)
	}
	if l := r.Last; l != nil && l.Session != nil && lost(l.Session.ID) {
		l.Session = nil
	}
}

func (e *Exec) forget(lost func(session string) bool) {
	if e == nil {
		return
	}
	if e.Session != nil && lost(e.Session.ID) {
		e.Session, e.Cut, e.Reminder, e.Continue = nil, nil, "", false
	}
	// A length is that of the transcript with which the invocation began.
	if run := e.Running; run != nil && (lost(run.SessionID) || lost(run.From)) {
		run.Length = nil
	}
}
