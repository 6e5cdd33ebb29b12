package ask

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// TerminalPrompter brings the answers of flags, and those that are typed at a terminal. There the
// questions of a run are asked one at a time, in the order of their numbers. It implements
// runner.People.
type TerminalPrompter struct {
	*queue
	at   *Terminal // nil for none
	asks sync.Once // starts the asking

	// The queue's mutex guards what follows.
	open     []*question
	answered map[int]bool // numbers of the questions that have an answer
	left     bool         // nothing more is typed
}

var _ runner.Prompter = (*TerminalPrompter)(nil)

// NewTerminalPrompter returns a Shell that gives the answers of flags, as Match returned them, and answers
// at a terminal; nil for none. The caller closes it when the run has stopped.
func NewTerminalPrompter(given []runner.QuestionUpdate, at *Terminal) *TerminalPrompter {
	p := &TerminalPrompter{queue: newQueue(len(given)), at: at, left: at == nil, answered: map[int]bool{}}
	for _, u := range given {
		p.answered[u.Number] = true
		p.updates <- u
	}
	return p
}

// UpdateQuestions implements runner.People.
func (p *TerminalPrompter) UpdateQuestions(run *state.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = openOf(run)
	p.rouse()
	if len(p.open) > 0 && p.at != nil {
		p.asks.Do(func() { go p.serve() })
	}
}

// HasRead implements runner.People.
func (p *TerminalPrompter) HasRead(time.Time) bool { return len(p.updates) == 0 }

// IsSettled implements runner.People.
func (p *TerminalPrompter) IsSettled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left && len(p.updates) == 0
}

// Close ends the asking. Who waits for a line then waits until the process ends.
func (p *TerminalPrompter) Close() { p.stop() }

// serve asks until nothing more is typed or the run has stopped.
func (p *TerminalPrompter) serve() {
	for q := p.next(); q != nil; q = p.next() {
		var b strings.Builder
		fmt.Fprintf(&b, "Question %d, from %s:\n", q.Number, q.agent)
		for line := range strings.Lines(text.Printable(p.at.hide(string(q.Text)))) {
			b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
		}
		if len(q.Choices) > 0 {
			b.WriteString("Choices: " + text.Escape(strings.Join(q.Choices, ", ")) + "\n")
		}
		if !q.until.IsZero() {
			fmt.Fprintf(&b, "Without an answer until %s, %s comes next.\n", report.FormatMinute(q.until), q.TimeoutNext)
		}
		b.WriteString("Type the answer and press Enter. With \\ at the end of a line, the answer continues on the next one. Ctrl-D suspends the run.\n")
		_, _ = io.WriteString(p.at.out, b.String()) // who can't read it doesn't answer
		for isTaken := false; !isTaken; {
			answer, err := p.at.read()
			if err != nil {
				p.mu.Lock()
				p.left = true
				p.mu.Unlock()
				p.send(runner.QuestionUpdate{})
				return
			}
			isTaken = p.take(q, answer)
		}
	}
}

// next returns the question to ask, as soon as there is one; nil when the run has stopped.
func (p *TerminalPrompter) next() *question {
	for {
		if q := p.unanswered(); q != nil {
			return q
		}
		select {
		case <-p.wake:
		case <-p.ctx.Done():
			return nil
		}
	}
}

// unanswered returns the first open question that has no answer yet; nil for none.
func (p *TerminalPrompter) unanswered() *question {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.open {
		if !p.answered[q.Number] {
			return q
		}
	}
	return nil
}

// take takes what was typed to a question, which counts for no other one. It returns false
// when the question is still to be answered.
func (p *TerminalPrompter) take(q *question, answer string) bool {
	p.mu.Lock()
	isOpen := slices.ContainsFunc(p.open, func(open *question) bool { return open.Number == q.Number })
	p.mu.Unlock()
	chosen, fits := q.MatchAnswer(answer)
	switch {
	case !isOpen:
		p.at.say("Question %d is no longer open.", q.Number)
		return true
	case !fits:
		p.at.say("That is none of the choices. Try again.")
		return false
	case strings.TrimSpace(answer) == "":
		p.at.say("That is no answer. Try again.")
		return false
	}
	p.mu.Lock()
	p.answered[q.Number] = true
	p.mu.Unlock()
	p.send(runner.QuestionUpdate{Agent: q.agent, Number: q.Number, Answer: &state.Answer{Text: chosen, By: by}})
	return true
}
