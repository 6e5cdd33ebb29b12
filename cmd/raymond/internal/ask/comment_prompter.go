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

// CommentAPI reads and writes comments on issues and pull requests. *job.GitHub implements it. Every
// method returns within a bounded time. The errors are of type *forge.Error.
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

// Options configure a CommentPrompter.
type Options struct {
	API    CommentAPI
	Prefix string      // what answers begin with
	Ref    QuestionRef // identifies the run; the prompter sets Token and Number
	// Number is the issue or pull request for questions that name no issue. It is 0 if the event has no issue.
	// EarlierNumber is used instead for questions that were open when the run was resumed.
	Number, EarlierNumber int
	// AuthorizeAnswer returns nil if an account may answer, and the reason otherwise.
	AuthorizeAnswer func(ctx context.Context, who job.Account) *job.Denial
	IsPrompt        func(state string) bool
	Redact          func(string) string // replaces secrets in a text
	Warn            func(string)        // writes a warning to the job log
	Link            string              // link to the workflow run, in Markdown; may be empty
	Retention       time.Duration       // how long checkpoints are stored; 0 means without limit
	IsLocal         bool                // no checkpoints are used, so each saved step counts as stored
	Questions       []report.Wait       // all questions of the run so far, open or not
}

// maxUnstored is the number of failed checkpoints after which a run stops waiting for a checkpoint that
// contains its questions.
const maxUnstored = 3

// CommentPrompter posts the questions of a run as comments and reads the answers, in a separate
// goroutine. It implements runner.Prompter. It also implements report.Reporter, to learn which steps
// are stored. Only the owner of the run may call its methods.
type CommentPrompter struct {
	*queue
	o         Options
	commenter *commenter // used only by the goroutine
	done      chan struct{}

	// The queue's mutex guards the fields below.
	model  *report.Model   // contains the questions of the run; nil until UseModel
	old    map[string]bool // tokens of the questions that were open when the run was resumed
	open   []*question     // in the order of their numbers
	closed []*question     // closed questions whose comments don't show the answer yet

	seq      int  // the last step
	stored   int  // the last step that is stored
	unstored int  // failed checkpoints since the last new question
	quiet    int  // the step since which all agents wait; 0 while an agent works
	isEnding bool // Finish was called

	polls         pollState
	err           error     // why answers could not be read, or nil
	awaitsSettled bool      // the owner is waiting for IsSettled to return true
	awaited       time.Time // if set, the owner is waiting for HasRead(awaited) to return true
}

var _ runner.Prompter = (*CommentPrompter)(nil)

// NewCommentPrompter returns a CommentPrompter for a run that is not driven yet. It makes no request
// until a question is open. The caller must call Finish.
func NewCommentPrompter(o Options, run *state.Run) *CommentPrompter {
	p := &CommentPrompter{queue: newQueue(100), o: o, commenter: newCommenter(&o), done: make(chan struct{}), old: map[string]bool{}}
	for _, q := range openQuestions(run) {
		p.old[q.Token] = true
	}
	go p.run()
	return p
}

// UseModel sets the model of the run, which contains its questions and their times. The caller must
// pass every later event to Report.
func (p *CommentPrompter) UseModel(m *report.Model) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.model, p.o.Questions = m, m.Questions()
}

// HasPendingWork reports whether a process should drive a suspended run because of its questions:
// a question has an answer, a question was never posted, or the forge can't be read at the moment.
// HasPendingWork replies to answers that can't be accepted.
func HasPendingWork(ctx context.Context, o Options, run *state.Run) bool {
	open := openQuestions(run)
	for _, q := range open {
		if q.isOld = true; q.Comment == 0 {
			return true
		}
	}
	answers, err := newCommenter(&o).findAnswers(ctx, open, o.Questions)
	return len(answers) > 0 || err != nil
}

// UpdateQuestions implements runner.Prompter.
func (p *CommentPrompter) UpdateQuestions(run *state.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.seq, p.polls.lastOpen = run.Progress.Seq, now
	if p.o.IsLocal {
		p.stored = p.seq
	}
	if slices.ContainsFunc(run.Agents, func(a *state.Agent) bool { return a.Status == state.Ready || a.Status == state.Busy }) {
		p.quiet, p.awaitsSettled = 0, false
	} else if p.quiet == 0 {
		p.quiet = p.seq
	}
	if p.awaitsSettled { // the owner is waiting for IsSettled, so answers are read again
		p.polls.want(now)
	}
	open := openQuestions(run)
	for i, q := range open {
		if at := slices.IndexFunc(p.open, func(known *question) bool { return known.Token == q.Token }); at >= 0 {
			p.open[at].isSaved = q.isSaved
			open[i] = p.open[at]
			continue
		}
		q.seq, q.isOld, q.toPrompt = p.seq, p.old[q.Token], p.o.IsPrompt(q.next)
		if q.isOld {
			p.polls.want(now)
			continue
		}
		p.unstored = 0
		p.polls.again()
		const day, usual = 24 * time.Hour, 14 * 24 * time.Hour
		wait := usual
		if !q.until.IsZero() {
			wait = q.until.Sub(q.since)
		}
		if p.o.Retention > 0 && wait > p.o.Retention {
			p.o.Warn(fmt.Sprintf("question %d may stay open longer than the %d days for which the run is stored; later answers can't be used; "+
				"increase retention-days to store it longer", q.Number, p.o.Retention/day))
		}
	}
	for _, q := range p.open {
		if isOver := q.answer != nil || !q.until.IsZero() && !now.Before(q.until); !slices.Contains(open, q) && q.Comment != 0 && isOver {
			p.closed = append(p.closed, q)
			p.polls.again()
		}
	}
	p.open = open
	p.rouse()
}

// HasOpenQuestions reports whether the prompter has open questions.
func (p *CommentPrompter) HasOpenQuestions() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open) > 0
}

// IsSettled implements runner.Prompter. If it returns false, it requests another poll, and the owner
// gets an update when the prompter is settled.
func (p *CommentPrompter) IsSettled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) > 0 && p.quiet == 0 {
		p.quiet = p.seq
	}
	if p.isSettled() {
		return true
	}
	p.awaitsSettled = true
	p.polls.want(p.polls.lastOpen)
	p.rouse()
	return false
}

// isSettled reports whether the owner can stop waiting for updates: all questions are posted and saved, or
// can't be, answers were read after the last change, and no answer is on its way to the owner.
func (p *CommentPrompter) isSettled() bool {
	for _, q := range p.open {
		if q.answer != nil || q.Comment != 0 && !q.isSaved {
			return false // the owner will get an update about this question
		}
		if q.Comment == 0 && !q.isRefused && !p.polls.isGivenUp() && p.unstored < maxUnstored {
			return false
		}
	}
	isRead := !p.polls.lastRead.Before(p.polls.lastOpen) || p.polls.isGivenUp()
	return len(p.open) == 0 || isRead && !p.needsCheckpoint()
}

// HasRead implements runner.Prompter.
func (p *CommentPrompter) HasRead(before time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hasRead(before) {
		return true
	}
	p.awaited = before
	p.polls.want(before)
	p.rouse()
	return false
}

// hasRead reports whether all answers that were given before a time have been sent to the owner.
func (p *CommentPrompter) hasRead(before time.Time) bool {
	return !p.polls.lastRead.Before(before) && len(p.unanswered()) == len(p.open)
}

// NeedsCheckpoint reports whether the run should be stored as soon as possible. There are two reasons:
// a question is posted only after its token is stored, and a job that is started by an answer must see
// that all agents of this run wait.
func (p *CommentPrompter) NeedsCheckpoint() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.needsCheckpoint()
}

// needsCheckpoint is NeedsCheckpoint for callers that hold the mutex.
func (p *CommentPrompter) needsCheckpoint() bool {
	if len(p.open) == 0 || p.unstored >= maxUnstored {
		return false
	}
	return p.quiet > p.stored || slices.ContainsFunc(p.open, func(q *question) bool { return !p.isStored(q) })
}

// isStored reports whether a later job can find the token of q in the stored run.
func (p *CommentPrompter) isStored(q *question) bool { return q.isOld || p.stored >= q.seq }

// ExpectNoCheckpoints tells the prompter that no checkpoint will be stored until the run ends. The
// prompter then no longer waits for one.
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

// Tick requests a poll if the last one is long enough ago. It is called about once a second.
func (p *CommentPrompter) Tick(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) > 0 && now.Sub(p.polls.ended) >= pollEvery {
		p.polls.again()
		p.polls.want(now)
		p.rouse()
	}
	return nil
}

// Close implements report.Reporter. It does nothing, because questions may still have to be posted or
// updated; Finish does that.
func (p *CommentPrompter) Close() error { return nil }

// Finish completes the prompter's work after the run has stopped, until all is done or ctx ends. It
// updates the comments of answered questions. If isStored reports that the last state of the run is
// stored, it also posts the questions that are still open. If questions are open and their answers
// could not be read, Finish returns the reason.
func (p *CommentPrompter) Finish(ctx context.Context, isStored bool) error {
	p.mu.Lock()
	p.isEnding = true
	p.polls.again()
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
	<-p.done // stop has canceled the context of its requests
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) == 0 {
		return nil
	}
	return p.err
}
