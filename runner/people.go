package runner

import (
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// QuestionUpdate is news about a question of an agent that waits for an answer.
type QuestionUpdate struct {
	Agent  string
	Number int // of the question; news about one that is no longer open has no effect
	// Answer is what somebody has answered; nil for none.
	Answer *state.Answer
	// Comment is the comment that asks the question; 0 for no news of it.
	Comment int64
	// TimeOut ends the wait as if the question's time had come.
	TimeOut bool
}

// Prompter asks people the questions of a run, and brings what they answer.
type Prompter interface {
	// UpdateQuestions is told the run before the first step and after each saved one if questions are
	// open, and after the one that closed the last. Only the owner calls it. It must return soon, and
	// must not keep the run.
	UpdateQuestions(run *state.Run)
	// Updates brings news. The owner receives it at any time.
	Updates() <-chan QuestionUpdate
	// HasRead reports whether all answers that have come before a time have been brought
	// as Updates. The owner calls it when the time of a question has come, which times
	// out once it returns true: an answer that has come before that counts. Who has to
	// look whether there is one begins to look, and sends an Update without an agent
	// when there is none.
	HasRead(before time.Time) bool
	// IsSettled reports whether nothing more is to come soon, so that a run of which all
	// agents wait may be suspended. Only the owner calls it. When it turns true without an
	// Update, an Update without an agent is sent.
	IsSettled() bool
}
