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
		p.mu.Lock()
		hasWork := (len(p.closed) > 0 || len(p.unposted()) > 0 || p.needsRead()) && !p.polls.isGivenUp()
		next, isEnding := p.polls.next, p.isEnding
		p.mu.Unlock()
		var due <-chan time.Time
		if hasWork {
			due = time.After(time.Until(next))
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
		err := temporary(p.o.API.EditComment(p.ctx, q.Comment, p.o.questionBody(q, p.o.answeredText(q))))
		if err == nil { // otherwise the next poll tries again
			p.mu.Lock()
			p.closed = slices.DeleteFunc(slices.Clone(p.closed), func(other *question) bool { return other == q })
			p.mu.Unlock()
		}
		errs = append(errs, err)
	}
	if len(open) > 0 {
		errs = append(errs, p.read(open, asked, began))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now, hasFailed := time.Now(), errors.Join(errs...) != nil
	if len(open) > 0 || hasFailed {
		p.polls.ended = now
	}
	if !hasFailed {
		p.polls.failed = 0
		return
	}
	p.polls.next = now.Add(firstPause << p.polls.failed)
	p.polls.failed++
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
