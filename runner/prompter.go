package runner

import (
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// QuestionUpdate is news about an open question of an agent.
type QuestionUpdate struct {
	Agent  string
	Number int // of the question; an update about a closed question has no effect
	// Answer is the answer of a person; nil for none.
	Answer *state.Answer
	// Comment is the id of the comment that contains the question; 0 if it is unchanged.
	Comment int64
	// TimeOut ends the wait as if the question's timeout had passed.
	TimeOut bool
}

// Prompter puts the questions of a run to people, and delivers their answers.
type Prompter interface {
	// UpdateQuestions gets the run before the first step and after each saved step if questions
	// are open, and once more when the last one has been closed. Only the owner calls it. It must
	// return soon, and must not keep the run.
	UpdateQuestions(run *state.Run)
	// Updates returns the channel that delivers news. The owner receives from it at any time.
	Updates() <-chan QuestionUpdate
	// HasRead reports whether all answers given before a time have been delivered as updates. The
	// owner calls it when the timeout of a question has passed, and times the question out only
	// if it returns true: an answer given before the timeout counts. An implementation that has
	// to look for answers starts to look, and sends an update without an agent if it finds no
	// answer.
	HasRead(before time.Time) bool
	// IsSettled reports whether no updates are expected soon, so that a run whose agents all wait
	// may be suspended. Only the owner calls it. If the result changes to true without an update,
	// an update without an agent is sent.
	IsSettled() bool
}
