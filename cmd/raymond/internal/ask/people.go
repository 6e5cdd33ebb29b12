package ask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Forum is where questions are asked, as *job.GitHub is one. Each method takes a bounded
// time; their errors are of type *forge.Error.
type Forum interface {
	Remarks(ctx context.Context, number int, since time.Time) ([]job.Remark, error)
	Comment(ctx context.Context, id int64) (job.Remark, error)
	Say(ctx context.Context, number int, body string) (job.Remark, error)
	Edit(ctx context.Context, id int64, body string) error
	Self(ctx context.Context) (string, error)
	Author(ctx context.Context, number int) (job.Account, error)
}

// Options are what People need.
type Options struct {
	Forum   Forum
	Prefix  string  // with which answers begin
	Pointer Pointer // what the comments of this run have in common
	// Number is the issue or pull request on which questions are asked that name none, 0 for
	// nowhere; Earlier is that of the questions which the run brings with it.
	Number, Earlier int
	// MayAnswer says why somebody may not answer; nil when they may.
	MayAnswer func(ctx context.Context, who job.Account) *job.Denied
	IsPrompt  func(state string) bool
	Shown     func(string) string // what people may see of a text
	Tell      func(string)        // tells somebody who reads the job's log
	Link      string              // to the workflow run, in Markdown; "" for none
	Retention time.Duration       // how long checkpoints are kept; 0 for ever
	IsKept    bool                // what is saved is stored: there are no checkpoints
	Asked     []report.Wait       // the questions of the run so far, open or not
}

// People asks the questions of a run in comments, and reads the answers, from a goroutine
// of its own. It implements runner.People, and report.Reporter, by which it learns what is
// stored. The methods are for the owner of the run.
type People struct {
	*queue
	o     Options
	clerk *clerk // the goroutine's own
	done  chan struct{}

	// The queue's mutex guards what follows.
	board board
	model *report.Model // tells what was asked; nil until Listen
	err   error         // why it is not known whether there are answers
}

var _ runner.People = (*People)(nil)

// New returns People for a run as it is before it is driven. They make no request before a
// question is open. The caller must end them with Finish.
func New(o Options, run *state.Run) *People {
	p := &People{queue: newQueue(100), o: o, clerk: newClerk(&o), done: make(chan struct{}), board: newBoard(run)}
	go p.run()
	return p
}

// Listen has People learn from the model of the run what was asked when. They are to be told
// each event after it.
func (p *People) Listen(m *report.Model) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.model, p.o.Asked = m, m.Asked()
}

// HaveAnswers reports whether there is something to do for the questions of a run that
// nobody drives: one has an answer, or was never posted, or can't be looked at by now. Who
// has given an answer that can't be taken is told so.
func HaveAnswers(ctx context.Context, o Options, run *state.Run) bool {
	open := openOf(run)
	for _, q := range open {
		if q.isOld = true; q.Comment == 0 {
			return true
		}
	}
	answers, err := newClerk(&o).lookUp(ctx, open, o.Asked)
	return len(answers) > 0 || err != nil
}

// Open implements runner.People.
func (p *People) Open(run *state.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board.note(run, time.Now(), p.o.IsKept)
	for _, q := range p.board.open {
		q.toPrompt = p.o.IsPrompt(q.next)
		if q.seq == p.board.seq && !q.isOld {
			p.warnOfRetention(q)
		}
	}
	p.rouse()
}

// warnOfRetention warns of a question that may be open for longer than the run is stored.
func (p *People) warnOfRetention(q *question) {
	const usual = 14 * 24 * time.Hour
	wait := usual
	if !q.until.IsZero() {
		wait = q.until.Sub(q.since)
	}
	if p.o.Retention > 0 && wait > p.o.Retention {
		p.o.Tell(fmt.Sprintf("question %d may be open for %s, and the run is stored for %s: an answer that comes later can't be taken; "+
			"a larger retention-days keeps it longer", q.Number, days(wait), days(p.o.Retention)))
	}
}

// days is a time in whole days, or as it is where it is shorter.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day != 0 {
		return d.String()
	}
	return fmt.Sprintf("%d days", d/day)
}

// IsAsked reports whether questions are known to be open.
func (p *People) IsAsked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.board.open) > 0
}

// IsSettled implements runner.People. Answers are read once more before it is true.
func (p *People) IsSettled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &p.board
	if len(b.open) > 0 && b.quiet == 0 {
		b.quiet = b.seq
	}
	if b.isSettled() {
		return true
	}
	b.isAsked = true
	b.reading.want(b.reading.noted)
	p.rouse()
	return false
}

// HasRead implements runner.People.
func (p *People) HasRead(before time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &p.board
	if b.hasRead(before) {
		return true
	}
	b.reading.awaited = before
	b.reading.want(before)
	p.rouse()
	return false
}

// NeedsCheckpoint reports whether the run is to be stored as soon as possible.
func (p *People) NeedsCheckpoint() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.board.needsCheckpoint()
}

// GiveUpStoring says that nothing more is stored before the run ends.
func (p *People) GiveUpStoring() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board.unstored = maxUnstored
	p.rouse()
}

// Report implements report.Reporter.
func (p *People) Report(e state.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch b := e.Body.(type) {
	case *state.AgentWaits, *state.AgentGoesOn:
		p.o.Asked = p.model.Asked()
	case *state.Checkpoint:
		if b.Error == "" {
			p.board.stored = max(p.board.stored, b.SeqStored)
		} else {
			p.board.unstored++
		}
		p.rouse()
	}
	return nil
}

// Tick is called about once a second.
func (p *People) Tick(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.board.poll(now); p.board.reading.wanted.After(p.board.reading.known) {
		p.rouse()
	}
	return nil
}

// Close implements report.Reporter. There may be more to do afterwards: Finish ends it.
func (p *People) Close() error { return nil }

// Finish posts the questions that are open though the run has stopped, if isStored says
// that its end is stored, and has comments say who has answered, until that is done or the
// context ends. The error is why it is not known whether there are answers to questions
// that are still open.
func (p *People) Finish(ctx context.Context, isStored bool) error {
	p.mu.Lock()
	p.board.isEnding = true
	if isStored {
		p.board.stored = p.board.seq
	}
	p.mu.Unlock()
	p.rouse()
	select {
	case <-p.done:
	case <-ctx.Done():
	}
	p.stop()
	<-p.done // requests heed the context
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.board.open) == 0 {
		return nil
	}
	return p.err
}

// run does what is next, until there is nothing left to do after Finish.
func (p *People) run() {
	defer close(p.done)
	for p.ctx.Err() == nil {
		t := p.next()
		if t.do == nil && p.isOver() {
			return
		}
		var due <-chan time.Time
		if t.do != nil {
			due = time.After(time.Until(t.at))
		}
		select {
		case <-due:
			t.do(p.ctx)
		case <-p.wake:
		case <-p.ctx.Done():
		}
	}
}

// isOver reports whether the run has stopped, now that there is nothing to do. The owner is
// told what it waits to hear.
func (p *People) isOver() bool {
	p.mu.Lock()
	heard, isEnding := p.board.heard(), p.board.isEnding
	p.mu.Unlock()
	if heard {
		p.send(runner.Update{})
	}
	return isEnding
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
	if ctx.Err() != nil {
		return
	}
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
	for _, q := range p.board.unanswered() {
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
	r := &p.board.reading
	for _, u := range answers {
		for _, q := range p.board.open {
			if q.Number == u.Number {
				q.answer = u.Answer
			}
		}
	}
	r.tried, p.err = time.Now(), err
	if err == nil {
		r.known, r.tries = began, attempts{}
		return
	}
	r.tries.fail(r.tried, forge.IsPassing(err))
	if !forge.IsPassing(err) {
		p.o.Tell("answers can't be read: " + explained(err))
		p.err = nil // nobody will ever find one there
	}
}

// explained says what may be done about an error of the forge.
func explained(err error) string {
	var e *forge.Error
	if errors.As(err, &e) && (e.Kind == forge.Denied || e.Kind == forge.Missing) {
		return err.Error() + "; give the job permissions: issues: write, or pull-requests: write on pull requests"
	}
	return err.Error()
}
