package runner

import "github.com/raymond-action/raymond-action/state"

// asking is what the owner knows of the people who are asked. Its methods are the owner's.
type asking struct {
	people People // nil for nobody
	open   bool   // questions were open after the last step
	told   int    // number of the last question that they were told of
}

// tell tells people which questions are open after a step.
func (a *asking) tell(run *state.Run) {
	if a.people == nil {
		return
	}
	open := len(run.OpenQuestions()) > 0
	if a.open || open {
		a.people.Open(run)
	}
	a.open, a.told = open, run.Progress.Questions
}

// updates is People.Updates; nil where there is nobody.
func (a *asking) updates() <-chan Update {
	if a.people == nil {
		return nil
	}
	return a.people.Updates()
}

// known takes the updates that are there already.
func (a *asking) known() []Update {
	var all []Update
	for {
		select {
		case u := <-a.updates():
			all = append(all, u)
		default:
			return all
		}
	}
}

// mayBring reports whether an update may come soon about a question that is open after a
// step.
func (a *asking) mayBring(step *state.Step) bool {
	if a.people == nil {
		return false
	}
	for agent := range step.Agents() {
		if w := agent.Waits; w != nil && w.Question != nil && w.Question.Number > a.told {
			return true
		}
	}
	return !a.people.IsSettled()
}

// apply adds news about a question to a step.
func (u Update) apply(step *state.Step) {
	if u.Comment != 0 {
		step.NoteComment(u.Agent, u.Number, u.Comment)
	}
	switch {
	case u.Answer != nil:
		step.Answer(u.Agent, u.Number, *u.Answer)
	case u.TimeOut:
		step.TimeOut(u.Agent, u.Number)
	}
}
