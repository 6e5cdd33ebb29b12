package runner

import "github.com/raymond-action/raymond-action/state"

// updateQuestions informs the Prompter after a step if questions are open. It also does so if
// wereOpen is true, because the step may have closed the last question.
func (r *Runner) updateQuestions(wereOpen bool) {
	if r.cfg.Prompter != nil && (wereOpen || r.isAsking()) {
		r.cfg.Prompter.UpdateQuestions(r.run)
	}
}

// isAsking reports whether a question is open.
func (r *Runner) isAsking() bool { return len(r.run.OpenQuestions()) > 0 }

// pendingUpdates receives all updates that are available without waiting.
func (r *Runner) pendingUpdates() []QuestionUpdate {
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

// mayBringUpdate reports whether users may soon answer a question that is open after a step. A
// question that the step itself asks counts too.
func (r *Runner) mayBringUpdate(step *state.Step) bool {
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

// apply adds an update about a question to a step.
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
