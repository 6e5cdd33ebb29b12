package ask

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Forum is where questions are asked, as *job.GitHub is one. Each method takes a bounded
// time; their errors are of type *forge.Error.
type Forum interface {
	Remarks(ctx context.Context, number int, since time.Time) ([]job.Remark, error)
	Remark(ctx context.Context, r job.Remark) (job.Remark, error)
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
	// Event is the remark that has started the step; zero for none. It counts also when the
	// forge doesn't list it yet.
	Event job.Remark
	// MayAnswer says why somebody may not answer; nil when they may.
	MayAnswer func(ctx context.Context, who job.Account) *job.Denied
	IsPrompt  func(state string) bool
	Shown     func(string) string // what people may see of a text
	Tell      func(string)        // tells somebody who reads the job's log
	Link      string              // to the workflow run, in Markdown; "" for none
	Retention time.Duration       // how long checkpoints are kept; 0 for ever
	IsKept    bool                // what is saved is stored: there are no checkpoints
	History   *History            // of the run so far; nil for none
}

// People asks the questions of a run in comments, and reads the answers, from a goroutine
// of its own. It implements runner.People, and report.Reporter, by which it learns what is
// stored. The methods are for the owner of the run.
type People struct {
	o       Options
	updates chan runner.Update
	wake    chan struct{}
	stop    context.CancelFunc
	done    chan struct{}
	// idle ends when there is nothing left to do after Finish.
	idle     context.Context
	finished context.CancelFunc

	mu      sync.Mutex // guards what follows
	board   board
	history History
	err     error // why it is not known whether there are answers
}

var _ runner.People = (*People)(nil)

// New returns People for a run as it is before it is driven. They make no request before a
// question is open. The caller must end them with Finish.
func New(o Options, run *state.Run) *People {
	ctx, stop := context.WithCancel(context.Background())
	p := &People{
		o: o, updates: make(chan runner.Update, 100), wake: make(chan struct{}, 1), stop: stop,
		done: make(chan struct{}), board: newBoard(run),
	}
	p.idle, p.finished = context.WithCancel(context.Background())
	if o.History != nil {
		p.history = *o.History
	}
	go p.run(ctx)
	return p
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

// IsAsked reports whether questions are known to be open.
func (p *People) IsAsked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.board.open) > 0
}

// Updates implements runner.People.
func (p *People) Updates() <-chan runner.Update { return p.updates }

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
	if b.look.read != b.look.version {
		b.look.isDue = true
	}
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
	b.look.isDue, b.look.awaited = true, before
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
	if c, ok := e.Body.(*state.Checkpoint); ok {
		if c.Error == "" {
			p.board.stored = max(p.board.stored, c.SeqStored)
		} else {
			p.board.unstored++
		}
		p.rouse()
	}
	return p.history.Report(e)
}

// Tick is called about once a second.
func (p *People) Tick(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.board.poll(now); p.board.look.isDue {
		p.rouse()
	}
	return nil
}

// Close implements report.Reporter. There may be more to do afterwards: Finish ends it.
func (p *People) Close() error { return nil }

// rouse has the goroutine look at the board again.
func (p *People) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

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
	case <-p.idle.Done():
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
