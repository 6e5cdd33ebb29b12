package runner

import (
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// updateQuestions informs the Prompter after a step if questions are open. It also does so if
// wereOpen is true, because the step may have closed the last question.
func (r *Runner) updateQuestions(wereOpen bool) {
	if r.cfg.Prompter != nil && (wereOpen || len(r.run.OpenQuestions()) > 0) {
		r.cfg.Prompter.UpdateQuestions(r.run)
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

// QuestionUpdate describes a change to an open question of an agent.
type QuestionUpdate struct {
	Agent  string
	Number int // number of the question; an update about a closed question has no effect
	// Answer is the answer of a user. It is nil if the update brings no answer.
	Answer *state.Answer
	// Comment is the id of the comment that contains the question. Zero means that the id has not
	// changed.
	Comment int64
	// TimeOut ends the wait as if the question's timeout had passed.
	TimeOut bool
}

// Prompter asks users the questions of a run, and delivers their answers.
type Prompter interface {
	// UpdateQuestions gets the run before the first step and after each saved step, if questions
	// are open. It is called once more when the last question has been closed. Only the owner
	// calls it. It must return soon, and must not keep a reference to the run.
	UpdateQuestions(run *state.Run)
	// Updates returns the channel that delivers updates. The owner may receive from it at any time.
	Updates() <-chan QuestionUpdate
	// HasRead reports whether all answers that were given before a time have been delivered as
	// updates. The owner calls it when the timeout of a question has passed, and times the
	// question out only if HasRead returns true, because an answer given before the timeout
	// counts. An implementation that has to look for answers starts to look. If it then finds no
	// answer, it sends an update without an agent.
	HasRead(before time.Time) bool
	// IsSettled reports whether no updates are expected soon. A run whose agents all wait may then
	// be suspended. Only the owner calls it. If the result changes to true without an update, the
	// Prompter sends an update without an agent.
	IsSettled() bool
}
