package simulate

import (
	"fmt"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// People answers the questions of a run with the answers of a replies file, as soon as
// they are asked. A question that has no answer left waits for its timeout.
type People struct {
	answers []Answer
	used    []bool
	updates chan runner.QuestionUpdate // has room for all answers
	asked   int                        // number of the newest question
	timed   bool                       // a question is open that its timeout may end
	wrong   []string
}

var _ runner.Prompter = (*People)(nil)

// NewPeople returns People who give the answers of a file, each once.
func NewPeople(r *Replies) *People {
	return &People{answers: r.Answers, used: make([]bool, len(r.Answers)), updates: make(chan runner.QuestionUpdate, len(r.Answers))}
}

// UpdateQuestions implements runner.People.
func (p *People) UpdateQuestions(run *state.Run) {
	p.timed = false
	for _, a := range run.OpenQuestions() {
		q := a.Waits.Question
		if q.Number > p.asked {
			p.asked = q.Number
			p.answer(a.ID, q)
		}
		p.timed = p.timed || !a.Waits.Until.IsZero()
	}
}

// answer gives a question the first answer that is left for its agent.
func (p *People) answer(agent string, q *state.Question) {
	for i, given := range p.answers {
		if p.used[i] || given.Agent != "" && given.Agent != agent {
			continue
		}
		p.used[i] = true
		text, fits := q.MatchAnswer(string(given.Text))
		if !fits {
			p.wrong = append(p.wrong, fmt.Sprintf("answer %d, %q, to question %d of %s, which takes: %s",
				i+1, given.Text, q.Number, agent, strings.Join(q.Choices, ", ")))
			return
		}
		p.updates <- runner.QuestionUpdate{Agent: agent, Number: q.Number, Answer: &state.Answer{Text: text, By: "cli"}}
		return
	}
}

// Updates implements runner.People.
func (p *People) Updates() <-chan runner.QuestionUpdate { return p.updates }

// IsSettled implements runner.People.
func (p *People) IsSettled() bool { return !p.isAnswering() && !p.timed }

// HasRead implements runner.People.
func (p *People) HasRead(time.Time) bool { return !p.isAnswering() }

// isAnswering reports whether the owner of the run has an answer to take.
func (p *People) isAnswering() bool { return len(p.updates) > 0 }

// Wrong says which answers are none of the choices of their question. To be called when
// the run has ended, as Unused.
func (p *People) Wrong() []string { return p.wrong }

// Unused says how many answers are left, as Actor.Unused does of replies.
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

// Runner returns the clock in the form that a runner takes, for a run whose questions are
// answered by people. It stands still while the run has an answer to take.
func (p *People) Runner(c *Clock) runner.Clock {
	r := c.Runner()
	r.Idle = func(busy int) {
		if !p.isAnswering() {
			c.waits(busy)
		}
	}
	return r
}
