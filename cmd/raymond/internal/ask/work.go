package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner"
)

// pollEvery is how often answers are looked for while agents work.
const pollEvery = time.Minute

// How often something is tried, and the pause after the first failure, which doubles.
const (
	maxAttempts = 5
	firstPause  = time.Second
)

// attempts are those at something that may fail.
type attempts struct {
	failed  int
	next    time.Time
	isGiven bool // up
}

// fail notes a failure. Those that another request can't change end it.
func (a *attempts) fail(now time.Time, isPassing bool) {
	a.next = now.Add(firstPause << a.failed)
	a.failed++
	a.isGiven = !isPassing || a.failed >= maxAttempts
}

// task is what is done next, at a time; nil for nothing.
type task struct {
	do func(context.Context)
	at time.Time
}

// run does what is next, until there is nothing left to do after Finish.
func (p *People) run() {
	defer close(p.done)
	for p.ctx.Err() == nil {
		p.tellOwner()
		t, isEnding := p.next()
		var due <-chan time.Time
		if t.do != nil {
			due = time.After(time.Until(t.at))
		} else if isEnding {
			return
		}
		select {
		case <-due:
			t.do(p.ctx)
		case <-p.wake:
		case <-p.ctx.Done():
		}
	}
}

// tellOwner tells the owner what it waits to hear, once that is true. Each time that it hears something it
// makes a step, of which it waits to hear again: so it hears nothing else.
func (p *People) tellOwner() {
	p.mu.Lock()
	isSettled := p.isAsked && p.isSettled()
	hasRead := !p.awaited.IsZero() && p.hasRead(p.awaited)
	p.isAsked = p.isAsked && !isSettled
	if hasRead {
		p.awaited = time.Time{}
	}
	p.mu.Unlock()
	if isSettled || hasRead {
		p.send(runner.Update{})
	}
}

// next returns the task that is due first, and whether the run has stopped.
func (p *People) next() (first task, isEnding bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	add := func(a *attempts, do func(context.Context)) {
		if !a.isGiven && (first.do == nil || a.next.Before(first.at)) {
			first = task{do, a.next}
		}
	}
	for _, q := range p.open {
		if q.Comment == 0 && q.answer == nil && p.isStored(q) {
			add(&q.post, func(ctx context.Context) { p.post(ctx, q) })
		}
	}
	for _, q := range p.closed {
		add(&q.post, func(ctx context.Context) { p.edit(ctx, q) })
	}
	if r := &p.reading; r.wanted.After(r.known) && !p.isEnding && len(p.unanswered()) > 0 {
		add(&r.tries, p.lookUp)
	}
	return first, p.isEnding
}

// unanswered are the open questions to which no answer is known.
func (p *People) unanswered() []*question {
	return slices.DeleteFunc(slices.Clone(p.open), func(q *question) bool { return q.answer != nil })
}

// post posts a question.
func (p *People) post(ctx context.Context, q *question) {
	p.mu.Lock()
	copied := *q
	p.mu.Unlock()
	id, err := p.clerk.post(ctx, &copied)
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	q.isOld = q.isOld || copied.isOld
	if err == nil {
		q.Comment, q.created = id, copied.created
	} else {
		q.post.fail(time.Now(), forge.IsPassing(err))
	}
	isGiven := q.post.isGiven
	p.mu.Unlock()
	switch {
	case err == nil:
		p.send(runner.Update{Agent: q.agent, Number: q.Number, Comment: id})
	case isGiven:
		p.o.Tell(fmt.Sprintf("question %d could not be asked: %s", q.Number, explained(err)))
	}
}

// edit has the comment of a question say how it was answered.
func (p *People) edit(ctx context.Context, q *question) {
	err := p.o.Forum.Edit(ctx, q.Comment, p.o.question(p.clerk.pointer(q), q, p.o.answered(q)))
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.post.isGiven = err == nil; err != nil {
		q.post.fail(time.Now(), forge.IsPassing(err))
	}
}

// lookUp looks for answers.
func (p *People) lookUp(ctx context.Context) {
	p.mu.Lock()
	var open []*question
	for _, q := range p.unanswered() {
		copied := *q
		open = append(open, &copied)
	}
	asked := p.o.Asked
	p.mu.Unlock()
	began := time.Now()
	answers, err := p.clerk.lookUp(ctx, open, asked)
	if ctx.Err() != nil {
		return
	}
	p.noteAnswers(answers, err, began)
	for _, u := range answers {
		p.send(u)
	}
}

// noteAnswers notes what came of looking for answers, and when that began.
func (p *People) noteAnswers(answers []runner.Update, err error, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range answers {
		for _, q := range p.open {
			if q.Number == u.Number {
				q.answer = u.Answer
			}
		}
	}
	r := &p.reading
	r.tried = time.Now()
	if p.err = err; forge.IsPassing(err) {
		r.tries.fail(r.tried, true)
		return
	}
	if err != nil { // nobody will ever find an answer there
		p.clerk.tell("answers can't be read: " + explained(err))
		p.err = nil
	}
	r.known, r.tries = began, attempts{}
}

// explained says what may be done about an error of the forge.
func explained(err error) string {
	var e *forge.Error
	if errors.As(err, &e) && (e.Kind == forge.Denied || e.Kind == forge.Missing) {
		return err.Error() + "; give the job permissions: issues: write, or pull-requests: write on pull requests"
	}
	return err.Error()
}
