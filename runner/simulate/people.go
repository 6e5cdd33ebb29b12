package simulate

import (
	"fmt"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// People answers the questions of a run immediately, with the answers of a replies file. A question
// for which no answer is left stays open until its timeout.
type People struct {
	answers []Answer
	used    []bool
	// updates has enough capacity for all answers, so that sending never blocks.
	updates      chan runner.QuestionUpdate
	lastQuestion int  // number of the newest question
	hasTimeout   bool // whether an open question has a timeout
	wrong        []string
}

var _ runner.Prompter = (*People)(nil)

// NewPeople returns a People that uses each answer in r once.
func NewPeople(r *Replies) *People {
	return &People{answers: r.Answers, used: make([]bool, len(r.Answers)), updates: make(chan runner.QuestionUpdate, len(r.Answers))}
}

// UpdateQuestions implements runner.Prompter.
func (p *People) UpdateQuestions(run *state.Run) {
	p.hasTimeout = false
	for _, a := range run.OpenQuestions() {
		q := a.Waits.Question
		if q.Number > p.lastQuestion {
			p.lastQuestion = q.Number
			p.answer(a.ID, q)
		}
		p.hasTimeout = p.hasTimeout || !a.Waits.Until.IsZero()
	}
}

// answer answers a question with the first unused answer for the agent. If that answer is not among
// the question's choices, the question stays open, and Wrong reports the answer.
func (p *People) answer(agent string, q *state.Question) {
	for i, given := range p.answers {
		if p.used[i] || given.Agent != "" && given.Agent != agent {
			continue
		}
		p.used[i] = true
		text, fits := q.MatchAnswer(string(given.Text))
		if !fits {
			p.wrong = append(p.wrong, fmt.Sprintf("answer %d, %q, is not a choice of question %d of %s: %s",
				i+1, given.Text, q.Number, agent, strings.Join(q.Choices, ", ")))
			return
		}
		p.updates <- runner.QuestionUpdate{Agent: agent, Number: q.Number, Answer: &state.Answer{Text: text, By: "cli"}}
		return
	}
}

// Updates implements runner.Prompter.
func (p *People) Updates() <-chan runner.QuestionUpdate { return p.updates }

// IsSettled implements runner.Prompter.
func (p *People) IsSettled() bool { return !p.isAnswering() && !p.hasTimeout }

// HasRead implements runner.Prompter.
func (p *People) HasRead(time.Time) bool { return !p.isAnswering() }

// isAnswering reports whether the run's owner has not received an answer yet.
func (p *People) isAnswering() bool { return len(p.updates) > 0 }

// Wrong returns a line about each answer that is not among the choices of its question. It must not
// be called before the run has ended.
func (p *People) Wrong() []string { return p.wrong }

// Unused returns a line with the number of unused answers, or nil if all were used.
func (p *People) Unused() []string {
	left := 0
	for _, used := range p.used {
		if !used {
			left++
		}
	}
	if left == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d answers", left, len(p.used))}
}

// Runner returns a runner.Clock that uses the clock c, for a run with these People. The clock also
// stands still until the run's owner has received all answers.
func (p *People) Runner(c *Clock) runner.Clock {
	r := c.Runner()
	r.Idle = func(busy int) {
		if !p.isAnswering() {
			c.ownerWaits(busy)
		}
	}
	return r
}
