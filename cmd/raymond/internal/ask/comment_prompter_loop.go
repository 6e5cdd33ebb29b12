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

// pollEvery is how often the prompter looks for answers while agents work.
const pollEvery = time.Minute

// After maxFailed failed polls in a row, the prompter stops polling. firstPause is the pause after the
// first failed poll. Each further failure doubles the pause.
const (
	maxFailed  = 5
	firstPause = time.Second
)

// pollState schedules the polls of the forge. A poll posts questions and, if answers are wanted,
// reads all answers that were given before it began.
type pollState struct {
	lastOpen time.Time // when the owner last called UpdateQuestions
	wanted   time.Time // a poll that begins at this time or later must read answers
	lastRead time.Time // the start of the last poll that read answers
	ended    time.Time // the end of the last poll that read answers or failed
	failed   int       // failed polls in a row
	next     time.Time // the earliest time for the next poll
}

// want requests a poll that reads all answers given before t.
func (l *pollState) want(t time.Time) {
	if t.After(l.wanted) {
		l.wanted = t
	}
}

// again allows a poll immediately, even if the last polls have failed.
func (l *pollState) again() { l.failed, l.next = 0, time.Time{} }

// isGivenUp reports whether maxFailed polls in a row have failed.
func (l *pollState) isGivenUp() bool { return l.failed >= maxFailed }

// end records the end of a poll, and whether it has read answers. After an error it delays the next
// poll.
func (l *pollState) end(now time.Time, hasRead bool, err error) {
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

// run polls whenever there is something to do. It returns when Finish was called and everything is
// done, or when the context ends.
func (p *CommentPrompter) run() {
	defer close(p.done)
	for p.ctx.Err() == nil {
		p.mu.Lock()
		isSettled := p.awaitsSettled && p.isSettled()
		hasRead := !p.awaited.IsZero() && p.hasRead(p.awaited)
		p.awaitsSettled = p.awaitsSettled && !isSettled
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
			p.poll()
		case <-p.wake:
		case <-p.ctx.Done():
		}
	}
}

// due returns the time of the next poll, and whether Finish was called. The time is zero if there is
// nothing to do.
func (p *CommentPrompter) due() (at time.Time, isEnding bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if (len(p.closed) > 0 || len(p.unposted()) > 0 || p.needsRead()) && !p.polls.isGivenUp() {
		at = p.polls.next
		if now := time.Now(); at.Before(now) {
			at = now
		}
	}
	return at, p.isEnding
}

// unanswered returns the open questions to which no answer is known.
func (p *CommentPrompter) unanswered() []*question {
	return slices.DeleteFunc(slices.Clone(p.open), func(q *question) bool { return q.answer != nil })
}

// unposted returns the questions that can be posted now.
func (p *CommentPrompter) unposted() []*question {
	return slices.DeleteFunc(p.unanswered(), func(q *question) bool { return q.Comment != 0 || q.isRefused || !p.isStored(q) })
}

// needsRead reports whether the next poll has to read answers.
func (p *CommentPrompter) needsRead() bool {
	return p.polls.wanted.After(p.polls.lastRead) && !p.isEnding && len(p.unanswered()) > 0
}

// poll posts questions, adds answers to the comments of answered questions, and reads new answers.
func (p *CommentPrompter) poll() {
	p.mu.Lock()
	unposted, closed, open, asked := p.unposted(), p.closed, p.unanswered(), p.o.Questions
	if !p.needsRead() {
		open = nil
	}
	p.mu.Unlock()
	began := time.Now()
	var errs []error // temporary errors, after which another poll is useful
	for _, q := range unposted {
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
	p.polls.end(time.Now(), len(open) > 0, errors.Join(errs...))
}

// post posts a question and sends the id of its comment to the owner. If the forge rejects the question,
// or after the last attempt, it writes a warning. It returns an error only if another attempt may succeed.
func (p *CommentPrompter) post(q *question) error {
	id, err := p.commenter.post(p.ctx, q)
	if p.ctx.Err() != nil {
		return nil
	}
	p.mu.Lock()
	q.Comment, q.isRefused = id, err != nil && !forge.IsTemporary(err)
	isLast := p.polls.failed == maxFailed-1
	p.mu.Unlock()
	switch {
	case err == nil:
		p.send(runner.QuestionUpdate{Agent: q.agent, Number: q.Number, Comment: id})
		return nil
	case q.isRefused || isLast:
		p.commenter.warnOnce(fmt.Sprintf("could not post question %d: %s", q.Number, explain(err)))
	}
	return temporary(err)
}

// edit adds the answer to the comment of a question. It returns an error only if another attempt may
// succeed.
func (p *CommentPrompter) edit(q *question) error {
	err := temporary(p.o.API.EditComment(p.ctx, q.Comment, p.o.questionBody(q, p.o.answeredText(q))))
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.closed = slices.DeleteFunc(slices.Clone(p.closed), func(other *question) bool { return other == q })
	}
	return err
}

// read reads the answers to open questions and sends them to the owner. asked lists all questions of
// the run, and began is the time at which the poll began.
func (p *CommentPrompter) read(open []*question, asked []report.Wait, began time.Time) error {
	answers, err := p.commenter.findAnswers(p.ctx, open, asked)
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
	if p.err = temporary(err); p.err == nil {
		p.polls.lastRead = began
	}
	p.mu.Unlock()
	if err != nil && temporary(err) == nil { // later polls will fail in the same way
		p.commenter.warnOnce("can't read answers: " + explain(err))
	}
	for _, u := range answers {
		p.send(u)
	}
	return temporary(err)
}

// temporary returns err if a later request may succeed, and nil otherwise.
func temporary(err error) error {
	if forge.IsTemporary(err) {
		return err
	}
	return nil
}

// explain returns the text of an error from the forge. If a permission may be missing, it adds which.
func explain(err error) string {
	var e *forge.Error
	if errors.As(err, &e) && (e.Kind == forge.Denied || e.Kind == forge.Missing) {
		return err.Error() + "; give the job permissions: issues: write, or pull-requests: write on pull requests"
	}
	return err.Error()
}
