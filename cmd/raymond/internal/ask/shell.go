package ask

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Shell brings the answers of flags, and those that are typed at a terminal. There the
// questions of a run are asked one at a time, in the order of their numbers. It implements
// runner.People.
type Shell struct {
	*queue
	at    *Terminal    // nil for none
	given map[int]bool // numbers of the questions that flags answer
	asks  sync.Once    // starts the asking

	// The queue's mutex guards what follows.
	open     []*question
	asking   int  // number of the question that is on the terminal; 0 for none
	closed   bool // it was told that this question is no longer open
	answered int  // number of the last question that was answered at the terminal
	left     bool // nothing more is typed
}

var _ runner.People = (*Shell)(nil)

// NewShell returns a Shell that gives the answers of flags, as Match returned them, and answers
// at a terminal; nil for none. The caller closes it when the run has stopped.
func NewShell(given []runner.Update, at *Terminal) *Shell {
	p := &Shell{queue: newQueue(len(given)), at: at, left: at == nil, given: map[int]bool{}}
	for _, u := range given {
		p.given[u.Number] = true
		p.updates <- u
	}
	return p
}

// Open implements runner.People. Somebody may be typing an answer to a question that is no
// longer open: what is typed then counts for no other question.
func (p *Shell) Open(run *state.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = openOf(run)
	if p.asking != 0 && !p.closed && !p.isOpen(p.asking) {
		p.closed = true
		p.at.say("Question %d is no longer open. Press Enter to continue.", p.asking)
	}
	p.rouse()
	if len(p.open) > 0 && p.at != nil {
		p.asks.Do(func() { go p.serve() })
	}
}

// HasRead implements runner.People.
func (p *Shell) HasRead(time.Time) bool { return len(p.updates) == 0 }

// IsSettled implements runner.People.
func (p *Shell) IsSettled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left && len(p.updates) == 0
}

// Close ends the asking. Who waits for a line then waits until the process ends.
func (p *Shell) Close() { p.stop() }

// serve asks until nothing more is typed or the run has stopped.
func (p *Shell) serve() {
	shown := 0 // number of the last question that was
	for {
		q := p.next()
		if q == nil {
			return
		}
		if q.Number != shown {
			p.at.show(q)
			shown = q.Number
		}
		answer, err := p.at.read()
		if err != nil {
			p.leave()
			return
		}
		if u := p.take(q, answer); u != nil && !p.send(*u) {
			return
		}
	}
}

// next returns the question to ask, as soon as there is one; nil when the run has stopped.
func (p *Shell) next() *question {
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

// unanswered returns the first open question that has no answer yet; nil for none. It is on
// the terminal from now on.
func (p *Shell) unanswered() *question {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.open {
		if q.Number > p.answered && !p.given[q.Number] {
			p.asking, p.closed = q.Number, false
			return q
		}
	}
	return nil
}

// take returns the answer that was typed to a question; nil when it is none. The question
// is then asked again, if it is still open.
func (p *Shell) take(q *question, answer string) *runner.Update {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking = 0
	chosen, fits := q.Choose(answer)
	switch {
	case !p.isOpen(q.Number):
		return nil
	case !fits:
		p.at.say("That is none of the choices. Try again.")
		return nil
	case strings.TrimSpace(answer) == "":
		p.at.say("That is no answer. Try again.")
		return nil
	}
	p.answered = q.Number
	return &runner.Update{Agent: q.agent, Number: q.Number, Answer: &state.Answer{Text: chosen, By: by}}
}

func (p *Shell) isOpen(number int) bool {
	return slices.ContainsFunc(p.open, func(q *question) bool { return q.Number == number })
}

// leave notes that nothing more is typed.
func (p *Shell) leave() {
	p.mu.Lock()
	p.left, p.asking = true, 0
	p.mu.Unlock()
	p.send(runner.Update{})
}
