package state

import (
	"iter"
	"slices"
)

// LengthOf returns how much of the transcript of a conversation the run needs, in bytes; -1 for
// all of it, where that is not known.
func (r *Run) LengthOf(session string) int64 {
	length := int64(-1)
	for s := range r.sessions() {
		if s.ID == session && s.End != nil {
			length = max(length, *s.End)
		}
	}
	return length
}

// RenameSession gives a conversation another id, and the agent CLI's own one of that. It changes the
// run, which nobody else may use meanwhile.
func (r *Run) RenameSession(session, id, cliID string) {
	for s := range r.sessions() {
		if s.ID == session {
			s.ID, s.CLIID = id, cliID
		}
	}
}

// sessions are the places of the run that name a conversation which it may continue or branch from.
func (r *Run) sessions() iter.Seq[*Session] {
	places := []*Session{}
	for _, a := range r.Agents {
		places = append(places, a.Session)
		for _, f := range a.Stack {
			places = append(places, f.Session)
		}
		if a.Exec != nil {
			places = append(places, a.Exec.Session)
		}
	}
	if r.Last != nil {
		places = append(places, r.Last.Session)
	}
	return slices.Values(slices.DeleteFunc(places, func(s *Session) bool { return s == nil }))
}

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
