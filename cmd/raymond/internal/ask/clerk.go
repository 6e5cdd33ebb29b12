package ask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner"
)

// run does what is next, until the context ends.
func (p *People) run(ctx context.Context) {
	defer close(p.done)
	c := newClerk(&p.o)
	for ctx.Err() == nil {
		p.mu.Lock()
		t := p.board.next()
		p.mu.Unlock()
		wait := time.Until(t.at)
		switch {
		case t.kind == nothing:
			p.rest(ctx)
		case wait > 0:
			p.pause(ctx, wait)
		case t.kind == posting:
			p.post(ctx, c, t.question)
		case t.kind == editing:
			p.edit(ctx, c, t.question)
		case t.kind == lookup:
			p.lookUp(ctx, c)
		}
	}
}

// rest waits for something to do, after it has told the owner that all is settled.
func (p *People) rest(ctx context.Context) {
	p.mu.Lock()
	b := &p.board
	tell := b.isAsked && b.isSettled()
	if tell {
		b.isAsked = false
	}
	if !b.look.awaited.IsZero() && b.hasRead(b.look.awaited) {
		tell, b.look.awaited = true, time.Time{}
	}
	if p.board.isEnding {
		p.finished()
	}
	p.mu.Unlock()
	if tell {
		p.send(ctx, runner.Update{})
	}
	select {
	case <-p.wake:
	case <-ctx.Done():
	}
}

// pause waits before something is tried again.
func (p *People) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.wake:
	case <-ctx.Done():
	}
}

// send tells the owner something, unless the run has stopped.
func (p *People) send(ctx context.Context, u runner.Update) {
	p.mu.Lock()
	isEnding := p.board.isEnding
	p.mu.Unlock()
	if isEnding {
		return
	}
	select {
	case p.updates <- u:
	case <-ctx.Done():
	}
}

// post posts a question.
func (p *People) post(ctx context.Context, c *clerk, q *question) {
	p.mu.Lock()
	copied := *q
	p.mu.Unlock()
	id, err := c.post(ctx, &copied)
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
		p.send(ctx, runner.Update{Agent: q.agent, Number: q.Number, Comment: id})
	case isGiven:
		p.o.Tell(fmt.Sprintf("question %d could not be asked: %s", q.Number, explained(err)))
	}
}

// edit has the comment of a question say how it was answered.
func (p *People) edit(ctx context.Context, c *clerk, q *question) {
	err := c.o.Forum.Edit(ctx, q.Comment, c.words.question(c.pointer(q), q, c.words.answered(q)))
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		q.post.fail(time.Now(), forge.IsPassing(err))
	}
	if err == nil || q.post.isGiven {
		q.post.isGiven = true
	}
}

// lookUp looks for answers.
func (p *People) lookUp(ctx context.Context, c *clerk) {
	p.mu.Lock()
	version := p.board.look.version
	var open []*question
	for _, q := range p.board.open {
		if q.answer == nil {
			copied := *q
			open = append(open, &copied)
		}
	}
	history := p.history.copy()
	p.mu.Unlock()
	began := time.Now()
	answers, err := c.lookUp(ctx, open, history)
	if ctx.Err() != nil {
		return
	}
	p.noteAnswers(answers, err, version, began)
	for _, u := range answers {
		p.send(ctx, u)
	}
}

// noteAnswers notes what came of looking for answers to the questions of a version of the run, and
// when that began.
func (p *People) noteAnswers(answers []runner.Update, err error, version int, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &p.board
	now := time.Now()
	for _, u := range answers {
		for _, q := range b.open {
			if q.Number == u.Number {
				q.answer = u.Answer
			}
		}
	}
	b.look.at, p.err = now, err
	if err != nil && !forge.IsPassing(err) {
		p.o.Tell("answers can't be read: " + explained(err))
		p.err = nil // nobody will ever find one there
	}
	if err != nil {
		if b.look.attempts.fail(now, forge.IsPassing(err)); b.look.attempts.isGiven {
			b.look.isDue = false
		}
		return
	}
	b.look.to = began // all answers that came before are known
	b.look.attempts, b.look.read, b.look.isDue = attempts{}, version, b.look.version != version && b.isAsked
}

// explained says what may be done about an error of the forge.
func explained(err error) string {
	var e *forge.Error
	if errors.As(err, &e) && (e.Kind == forge.Denied || e.Kind == forge.Missing) {
		return err.Error() + "; give the job permissions: issues: write, or pull-requests: write on pull requests"
	}
	return err.Error()
}

// days is a time in whole days, or as it is where it is shorter.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day != 0 {
		return d.String()
	}
	return fmt.Sprintf("%d days", d/day)
}
