package ask

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
)

// pollEvery is how often answers are looked for while agents work.
const pollEvery = time.Minute

// How often in a row the forge is asked in vain, and the pause after the first failure, which doubles.
const (
	maxFailed  = 5
	firstPause = time.Second
)

// looks are those at the forge: each asks what is to be asked, and has all that people have said before it began.
type looks struct {
	noted  time.Time // when the run was last seen
	wanted time.Time // a look at what people say that begins then at the earliest is wanted
	known  time.Time // when the last one began that has read that
	ended  time.Time // when the last one ended that has read that, or failed
	failed int       // in a row
	next   time.Time // may begin then
}

// want asks for a look that has all that came before a time.
func (l *looks) want(t time.Time) {
	if t.After(l.wanted) {
		l.wanted = t
	}
}

// again lets the forge be asked at once, also if it has not answered so far.
func (l *looks) again() { l.failed, l.next = 0, time.Time{} }

// isGivenUp reports whether the forge doesn't answer by now.
func (l *looks) isGivenUp() bool { return l.failed >= maxFailed }

// end notes that a look has ended, and whether it was one at what people say. Who was not answered tries again.
func (l *looks) end(now time.Time, hasRead bool, err error) {
	if hasRead || err != nil {
		l.ended = now
	}
	if err == nil {
		l.failed = 0
		return
	}
	l.next = now.Add(firstPause << l.failed)
	l.failed++
}

// run looks whenever there is something to do, until there is nothing left after Finish.
func (p *CommentPrompter) run() {
	defer close(p.done)
	for p.ctx.Err() == nil {
		p.mu.Lock()
		isSettled := p.isAsked && p.isSettled()
		hasRead := !p.awaited.IsZero() && p.hasRead(p.awaited)
		p.isAsked = p.isAsked && !isSettled
		if hasRead {
			p.awaited = time.Time{}
		}
		p.mu.Unlock()
		if isSettled || hasRead {
			p.send(runner.QuestionUpdate{})
		}
		at, isEnding := p.due()
		var due <-chan time.Time
		if !at.IsZero() {
			due = time.After(time.Until(at))
		} else if isEnding {
			return
		}
		select {
		case <-due:
			p.look()
		case <-p.wake:
		case <-p.ctx.Done():
		}
	}
}

// due is when the next look begins, zero for never, and whether the run has stopped.
func (p *CommentPrompter) due() (at time.Time, isEnding bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if (len(p.closed) > 0 || len(p.unasked()) > 0 || p.isToRead()) && !p.looks.isGivenUp() {
		at = p.looks.next
		if now := time.Now(); at.Before(now) {
			at = now
		}
	}
	return at, p.isEnding
}

// unanswered are the open questions to which no answer is known.
func (p *CommentPrompter) unanswered() []*question {
	return slices.DeleteFunc(slices.Clone(p.open), func(q *question) bool { return q.answer != nil })
}

// unasked are the questions that are to be posted by now.
func (p *CommentPrompter) unasked() []*question {
	return slices.DeleteFunc(p.unanswered(), func(q *question) bool { return q.Comment != 0 || q.isRefused || !p.isStored(q) })
}

// isToRead reports whether a look at what people say is wanted.
func (p *CommentPrompter) isToRead() bool {
	return p.looks.wanted.After(p.looks.known) && !p.isEnding && len(p.unanswered()) > 0
}

// look posts questions, has comments say how theirs were answered, and reads answers.
func (p *CommentPrompter) look() {
	p.mu.Lock()
	unasked, closed, open, asked := p.unasked(), p.closed, p.unanswered(), p.o.Questions
	if !p.isToRead() {
		open = nil
	}
	p.mu.Unlock()
	began := time.Now()
	var errs []error // of which another look may not have any
	for _, q := range unasked {
		errs = append(errs, p.post(q))
	}
	for _, q := range closed {
		errs = append(errs, p.edit(q))
	}
	if len(open) > 0 {
		errs = append(errs, p.read(open, asked, began))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks.end(time.Now(), len(open) > 0, errors.Join(errs...))
}

// post posts a question.
func (p *CommentPrompter) post(q *question) error {
	id, err := p.clerk.post(p.ctx, q)
	if p.ctx.Err() != nil {
		return nil
	}
	p.mu.Lock()
	q.Comment, q.isRefused = id, err != nil && !forge.IsTemporary(err)
	isLast := p.looks.failed == maxFailed-1
	p.mu.Unlock()
	switch {
	case err == nil:
		p.send(runner.QuestionUpdate{Agent: q.agent, Number: q.Number, Comment: id})
		return nil
	case q.isRefused || isLast:
		p.clerk.tell(fmt.Sprintf("question %d could not be asked: %s", q.Number, explained(err)))
	}
	return passing(err)
}

// edit has the comment of a question say how it was answered.
func (p *CommentPrompter) edit(q *question) error {
	err := passing(p.o.API.EditComment(p.ctx, q.Comment, p.o.question(q, p.o.answered(q))))
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.closed = slices.DeleteFunc(slices.Clone(p.closed), func(other *question) bool { return other == q })
	}
	return err
}

// read reads the answers to questions. asked are all that the run has asked.
func (p *CommentPrompter) read(open []*question, asked []report.Wait, began time.Time) error {
	answers, err := p.clerk.lookUp(p.ctx, open, asked)
	if p.ctx.Err() != nil {
		return nil
	}
	p.mu.Lock()
	for _, u := range answers {
		for _, q := range p.open {
			if q.Number == u.Number {
				q.answer = u.Answer
			}
		}
	}
	if p.err = passing(err); p.err == nil {
		p.looks.known = began
	}
	p.mu.Unlock()
	if err != nil && passing(err) == nil { // nobody will ever find an answer there
		p.clerk.tell("answers can't be read: " + explained(err))
	}
	for _, u := range answers {
		p.send(u)
	}
	return passing(err)
}

// passing is an error that another request, later, need not meet; nil for others.
func passing(err error) error {
	if forge.IsTemporary(err) {
		return err
	}
	return nil
}

// explained says what may be done about an error of the forge.
func explained(err error) string {
	var e *forge.Error
	if errors.As(err, &e) && (e.Kind == forge.Denied || e.Kind == forge.Missing) {
		return err.Error() + "; give the job permissions: issues: write, or pull-requests: write on pull requests"
	}
	return err.Error()
}
