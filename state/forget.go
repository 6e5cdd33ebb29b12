package state

// Forget drops the conversations that lost reports: what resumes or branches one
// of them begins a new one instead. It changes r, which must be nobody else's.
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
}

func (e *Exec) forget(lost func(session string) bool) {
	if e == nil {
		return
	}
	if e.Session != nil && lost(e.Session.ID) {
		e.Session, e.Reminder, e.Continue = nil, "", false
	}
	// Lengths are of the transcript that the execution began or resumed with.
	if run := e.Running; run != nil && (lost(run.SessionID) || lost(run.From)) {
		run.Length = nil
	}
}
