package state

// KeepLast has the run keep where the conversation of its first agent ends, for a run that
// is to continue it. It is for a run that New has made.
func (r *Run) KeepLast() { r.Last = &Last{} }

// FollowUp has a run that New has made begin in another state than its workflow's first
// one, for a person's comment, in a branch of the conversation that last names, and where
// that was held.
func (r *Run) FollowUp(entry, login string, last Last) {
	r.Entry = entry
	main := r.Agents[0]
	main.leave()
	main.enter(entry, string(main.Payload))
	main.By, main.Dir = person(login), last.Dir
	main.Session, main.Branch = last.Session, last.Session != nil
}

// keepLast notes where the conversation of main has ended, if that is to be kept.
func (s *Step) keepLast(a *Agent) {
	if a.ID != mainAgent || s.run.Last == nil {
		return
	}
	s.delta.Last = &Last{Session: a.Session, Dir: a.Dir}
	if a.Session != nil {
		s.delta.Last.Model = a.Session.Model
	}
}
