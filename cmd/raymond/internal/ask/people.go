package ask

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// CommentAPI is where people are asked and told, as *job.GitHub is one. Each method takes a bounded
// time; their errors are of type *forge.Error.
type CommentAPI interface {
	ListComments(ctx context.Context, number int, since time.Time) ([]job.Comment, error)
	ListIssueComments(ctx context.Context, number int) ([]job.Comment, error)
	ReadComment(ctx context.Context, id int64) (job.Comment, error)
	CreateComment(ctx context.Context, number int, body string) (job.Comment, error)
	EditComment(ctx context.Context, id int64, body string) error
	DeleteComment(ctx context.Context, id int64) error
	OwnLogin(ctx context.Context) (login string, err error)
	IssueAuthor(ctx context.Context, number int) (job.Account, error)
}

// Options are what People need.
type Options struct {
	API    CommentAPI
	Prefix string      // with which answers begin
	Ref    QuestionRef // what the comments of this run have in common
	// Number is the issue or pull request on which questions are asked that name none, 0 for
	// nowhere; Earlier is that of the questions which the run brings with it.
	Number, EarlierNumber int
	// AuthorizeAnswer says why somebody may not answer; nil when they may.
	AuthorizeAnswer func(ctx context.Context, who job.Account) *job.Denial
	IsPrompt        func(state string) bool
	Redact          func(string) string // what people may see of a text
	Warn            func(string)        // tells somebody who reads the job's log
	Link            string              // to the workflow run, in Markdown; "" for none
	Retention       time.Duration       // how long checkpoints are kept; 0 for ever
	IsLocal         bool                // what is saved is stored: there are no checkpoints
	Questions       []report.Wait       // the questions of the run so far, open or not
}

// maxUnstored is how many saves may fail before the run no longer waits for one that has
// a question.
const maxUnstored = 3

// CommentPrompter asks the questions of a run in comments, and reads the answers, from a goroutine
// of its own. It implements runner.People, and report.Reporter, by which it learns what is
// stored. The methods are for the owner of the run.
type CommentPrompter struct {
	*queue
	o     Options
	clerk *clerk // the goroutine's own
	done  chan struct{}

	// The queue's mutex guards what follows.
	model  *report.Model   // tells what was asked; nil until Listen
	old    map[string]bool // tokens of the questions that the run brought with it
	open   []*question     // in the order of their numbers
	closed []*question     // whose comments are to say how they were answered

	seq      int  // of the last step
	stored   int  // the step that the last checkpoint has
	unstored int  // saves that have failed since a question was asked
	quiet    int  // the first step since which all agents wait; 0: some work
	isEnding bool // the run has stopped

	looks   looks
	err     error     // why it is not known whether there are answers
	isAsked bool      // the owner waits to hear that all is settled
	awaited time.Time // the owner waits to hear that all is read that came before; zero: it doesn't
}

var _ runner.Prompter = (*CommentPrompter)(nil)

// NewCommentPrompter returns People for a run as it is before it is driven. They make no request before a
// question is open. The caller must end them with Finish.
func NewCommentPrompter(o Options, run *state.Run) *CommentPrompter {
	p := &CommentPrompter{queue: newQueue(100), o: o, clerk: newClerk(&o), done: make(chan struct{}), old: map[string]bool{}}
	for _, q := range openOf(run) {
		p.old[q.Token] = true
	}
	go p.run()
	return p
}

// UseModel has People learn from the model of the run what was asked when. They are to be told
// each event after it.
func (p *CommentPrompter) UseModel(m *report.Model) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.model, p.o.Questions = m, m.Questions()
}

// HasPendingWork reports whether there is something to do for the questions of a run that
// nobody drives: one has an answer, or was never posted, or can't be looked at by now. Who
// has given an answer that can't be taken is told so.
func HasPendingWork(ctx context.Context, o Options, run *state.Run) bool {
	open := openOf(run)
	for _, q := range open {
		if q.isOld = true; q.Comment == 0 {
			return true
		}
	}
	answers, err := newClerk(&o).lookUp(ctx, open, o.Questions)
	return len(answers) > 0 || err != nil
}

// UpdateQuestions implements runner.People.
func (p *CommentPrompter) UpdateQuestions(run *state.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.seq, p.looks.noted = run.Progress.Seq, now
	if p.o.IsLocal {
		p.stored = p.seq
	}
	if slices.ContainsFunc(run.Agents, func(a *state.Agent) bool { return a.Status == state.Ready || a.Status == state.Busy }) {
		p.quiet, p.isAsked = 0, false
	} else if p.quiet == 0 {
		p.quiet = p.seq
	}
	if p.isAsked { // it waits to hear of this state of things
		p.looks.want(now)
	}
	open := openOf(run)
	for i, q := range open {
		open[i] = p.see(q, now)
	}
	for _, q := range p.open {
		if isOver := q.answer != nil || !q.until.IsZero() && !now.Before(q.until); !slices.Contains(open, q) && q.Comment != 0 && isOver {
			p.closed = append(p.closed, q)
			p.looks.again()
		}
	}
	p.open = open
	p.rouse()
}

// see returns what is known of a question, which may be a new one.
func (p *CommentPrompter) see(q *question, now time.Time) *question {
	if i := slices.IndexFunc(p.open, func(known *question) bool { return known.Token == q.Token }); i >= 0 {
		p.open[i].isSaved = q.isSaved
		return p.open[i]
	}
	q.seq, q.isOld, q.toPrompt = p.seq, p.old[q.Token], p.o.IsPrompt(q.next)
	if q.isOld {
		p.looks.want(now)
	} else {
		p.unstored = 0
		p.looks.again()
		const day, usual = 24 * time.Hour, 14 * 24 * time.Hour
		wait := usual
		if !q.until.IsZero() {
			wait = q.until.Sub(q.since)
		}
		if p.o.Retention > 0 && wait > p.o.Retention {
			p.o.Warn(fmt.Sprintf("question %d may be open for longer than the %d days for which the run is stored: an answer that comes later can't be taken; "+
				"a larger retention-days keeps it longer", q.Number, p.o.Retention/day))
		}
	}
	return q
}

// HasOpenQuestions reports whether questions are known to be open.
func (p *CommentPrompter) HasOpenQuestions() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open) > 0
}

// IsSettled implements runner.People. Answers are read once more before it is true.
func (p *CommentPrompter) IsSettled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) > 0 && p.quiet == 0 {
		p.quiet = p.seq
	}
	if p.isSettled() {
		return true
	}
	p.isAsked = true
	p.looks.want(p.looks.noted)
	p.rouse()
	return false
}

// isSettled reports whether nothing more is to come soon.
func (p *CommentPrompter) isSettled() bool {
	for _, q := range p.open {
		if q.answer != nil || q.Comment != 0 && !q.isSaved {
			return false // the owner is about to take that
		}
		if q.Comment == 0 && !q.isRefused && !p.looks.isGivenUp() && p.unstored < maxUnstored {
			return false
		}
	}
	isRead := !p.looks.known.Before(p.looks.noted) || p.looks.isGivenUp()
	return len(p.open) == 0 || isRead && !p.needsCheckpoint()
}

// HasRead implements runner.People.
func (p *CommentPrompter) HasRead(before time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hasRead(before) {
		return true
	}
	p.awaited = before
	p.looks.want(before)
	p.rouse()
	return false
}

// hasRead reports whether the owner has been sent all answers that came before a time.
func (p *CommentPrompter) hasRead(before time.Time) bool {
	return !p.looks.known.Before(before) && len(p.unanswered()) == len(p.open)
}

// NeedsCheckpoint reports whether the run is to be stored as soon as possible: for the token
// of a question, or so that a job which is started by an answer sees that this one may leave.
func (p *CommentPrompter) NeedsCheckpoint() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.needsCheckpoint()
}

func (p *CommentPrompter) needsCheckpoint() bool {
	if len(p.open) == 0 || p.unstored >= maxUnstored {
		return false
	}
	return p.quiet > p.stored || slices.ContainsFunc(p.open, func(q *question) bool { return !p.isStored(q) })
}

// isStored reports whether the token of a question is where a later job finds it.
func (p *CommentPrompter) isStored(q *question) bool { return q.isOld || p.stored >= q.seq }

// ExpectNoCheckpoints says that nothing more is stored before the run ends.
func (p *CommentPrompter) ExpectNoCheckpoints() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unstored = maxUnstored
	p.rouse()
}

// Report implements report.Reporter.
func (p *CommentPrompter) Report(e state.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch b := e.Body.(type) {
	case *state.AgentWaits, *state.AgentGoesOn:
		p.o.Questions = p.model.Questions()
	case *state.Checkpoint:
		if b.Error == "" {
			p.stored = max(p.stored, b.SeqStored)
		} else {
			p.unstored++
		}
		p.rouse()
	}
	return nil
}

// Tick is called about once a second.
func (p *CommentPrompter) Tick(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) > 0 && now.Sub(p.looks.ended) >= pollEvery {
		p.looks.again()
		p.looks.want(now)
		p.rouse()
	}
	return nil
}

// Close implements report.Reporter. There may be more to do afterwards: Finish ends it.
func (p *CommentPrompter) Close() error { return nil }

// Finish posts the questions that are open though the run has stopped, if isStored says
// that its end is stored, and has comments say who has answered, until that is done or the
// context ends. The error is why it is not known whether there are answers to questions
// that are still open.
func (p *CommentPrompter) Finish(ctx context.Context, isStored bool) error {
	p.mu.Lock()
	p.isEnding = true
	p.looks.again()
	if isStored {
		p.stored = p.seq
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
	if len(p.open) == 0 {
		return nil
	}
	return p.err
}
