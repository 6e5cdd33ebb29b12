package state

// KeepLastConversation has the run keep where the conversation of its first agent ends, for a run that
// is to continue it. It is for a run that New has made.
func (r *Run) KeepLastConversation() { r.Last = &LastConversation{} }

// FollowUp has a run that New has made begin in another state than its workflow's first
// one, for a person's comment, in a branch of the conversation that last names, and where
// that was held.
func (r *Run) FollowUp(entry, login string, last LastConversation) {
	r.Entry = entry
	main := r.Agents[0]
	main.leave()
	main.enter(entry, string(main.Payload))
	main.By, main.Dir = person(login), last.Dir
	main.Session, main.Branch = last.Session, last.Session != nil
}
