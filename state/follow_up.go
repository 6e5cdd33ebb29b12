package state

// KeepLastConversation makes the run record the conversation with which its main agent ends, so that a
// later run can continue from there. Call it for a run that New returned.
func (r *Run) KeepLastConversation() { r.Last = &LastConversation{} }

// FollowUp makes a run that New returned begin in the state entry, because of a comment. login is the user
// who wrote the comment. The run continues a copy of the conversation in last, in the same directory.
func (r *Run) FollowUp(entry, login string, last LastConversation) {
	r.Entry = entry
	main := r.Agents[0]
	main.uncountVisit()
	main.enter(entry, string(main.Payload))
	main.By, main.Dir = person(login), last.Dir
	main.Session, main.Branch = last.Session, last.Session != nil
}
