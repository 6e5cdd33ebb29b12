package state

// KeepLastConversation makes the run record where its main agent ends, so that a later run can
// continue from there. It is for a run returned by New.
func (r *Run) KeepLastConversation() { r.Last = &LastConversation{} }

// FollowUp changes a run returned by New so that it begins in the state entry because of a comment by
// login. It continues in a copy of the conversation of last, in the same directory.
func (r *Run) FollowUp(entry, login string, last LastConversation) {
	r.Entry = entry
	main := r.Agents[0]
	main.uncountVisit()
	main.enter(entry, string(main.Payload))
	main.By, main.Dir = person(login), last.Dir
	main.Session, main.Branch = last.Session, last.Session != nil
}
