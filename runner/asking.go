package runner

import "github.com/raymond-action/raymond-action/state"

// tellPeople tells people which questions are open after a step, and that the last one was closed by it.
func (r *Runner) tellPeople(wereOpen bool) {
	if r.cfg.Prompter != nil && (wereOpen || r.isAsking()) {
		r.cfg.Prompter.UpdateQuestions(r.run)
	}
}

// isAsking reports whether a question is open.
func (r *Runner) isAsking() bool { return len(r.run.OpenQuestions()) > 0 }

// known takes the updates that are there already.
func (r *Runner) known() []QuestionUpdate {
	var all []QuestionUpdate
	for {
		select {
		case u := <-r.updates:
			all = append(all, u)
		default:
			return all
		}
	}
}

// mayBring reports whether people may soon bring an update about a question that is open after a
// step, as they may about one that the step asks.
func (r *Runner) mayBring(step *state.Step) bool {
	if r.cfg.Prompter == nil {
		return false
	}
	for agent := range step.Agents() {
		if w := agent.Waits; w != nil && w.Question != nil && w.Question.Number > r.run.Progress.Questions {
			return true
		}
	}
	return !r.cfg.Prompter.IsSettled()
}

// apply adds news about a question to a step.
func (u QuestionUpdate) apply(step *state.Step) {
	if u.Comment != 0 {
		step.RecordComment(u.Agent, u.Number, u.Comment)
	}
	switch {
	case u.Answer != nil:
		step.Answer(u.Agent, u.Number, *u.Answer)
	case u.TimeOut:
		step.TimeOut(u.Agent, u.Number)
	}
}
