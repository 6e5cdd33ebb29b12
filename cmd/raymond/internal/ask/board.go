package ask

import (
	"context"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// pollEvery is how often answers are looked for while agents work.
const pollEvery = time.Minute

// maxUnstored is how many saves may fail before the run no longer waits for one that has
// a question.
const maxUnstored = 3

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

// board is what is known of the questions of a run, and decides what is done next.
type board struct {
	old    map[string]bool // tokens of the questions that the run brought with it
	open   []*question     // in the order of their numbers
	closed []*question     // whose comments are to say how they were answered

	seq      int // of the last step
	stored   int // the step that the last checkpoint has
	quiet    int // the first step since which all agents wait; 0: some work
	unstored int // saves that have failed since a question was asked

	reading  reads
	isAsked  bool // the owner waits to hear that all is settled
	isEnding bool // the run has stopped
}

// reads is how far the answers of people are known. A look has all that came before it began.
type reads struct {
	noted   time.Time // when the run was last seen
	wanted  time.Time // a look that begins then at the earliest is wanted
	known   time.Time // when the last one that succeeded began
	tried   time.Time // when the last one ended
	tries   attempts
	awaited time.Time // the owner waits for a look that begins then at the earliest; zero: it doesn't
}

// want asks for a look that has all that came before a time.
func (r *reads) want(t time.Time) {
	if t.After(r.wanted) {
		r.wanted = t
	}
}

// newBoard returns the board of a run before it is driven, and before its first step is noted.
func newBoard(run *state.Run) board {
	b := board{old: map[string]bool{}}
	for _, q := range openOf(run) {
		b.old[q.Token] = true
	}
	return b
}

// note takes over what a step has changed. isKept says that what is saved is stored.
func (b *board) note(run *state.Run, now time.Time, isKept bool) {
	b.seq, b.reading.noted = run.Progress.Seq, now
	if isKept {
		b.stored = b.seq
	}
	if slices.ContainsFunc(run.Agents, func(a *state.Agent) bool { return a.Status == state.Ready || a.Status == state.Busy }) {
		b.quiet, b.isAsked = 0, false
	} else if b.quiet == 0 {
		b.quiet = b.seq
	}
	if b.isAsked { // it waits to hear of this state of things
		b.reading.want(now)
	}
	open := openOf(run)
	for i, q := range open {
		open[i] = b.see(q, now)
	}
	for _, q := range b.open {
		if isOver := q.answer != nil || !q.until.IsZero() && !now.Before(q.until); !slices.Contains(open, q) && q.Comment != 0 && isOver {
			q.post = attempts{}
			b.closed = append(b.closed, q)
		}
	}
	b.open = open
}

// see returns what is known of a question.
func (b *board) see(q *question, now time.Time) *question {
	if i := slices.IndexFunc(b.open, func(known *question) bool { return known.Token == q.Token }); i >= 0 {
		known := b.open[i]
		if known.isSaved = q.isSaved; q.isSaved {
			known.Comment = q.Comment
		}
		return known
	}
	q.seq, q.isOld = b.seq, b.old[q.Token]
	if q.isOld {
		b.reading.want(now)
	} else {
		b.unstored = 0
	}
	return q
}

// isStored reports whether the token of a question is where a later job finds it.
func (b *board) isStored(q *question) bool { return q.isOld || b.stored >= q.seq }

// needsCheckpoint reports whether the run is to be stored soon: for the token of a
// question, or so that a job which is started by an answer sees that this one may leave.
func (b *board) needsCheckpoint() bool {
	if len(b.open) == 0 || b.unstored >= maxUnstored {
		return false
	}
	return b.quiet > b.stored || slices.ContainsFunc(b.open, func(q *question) bool { return !b.isStored(q) && !q.post.isGiven })
}

// isSettled reports whether nothing more is to come soon.
func (b *board) isSettled() bool {
	if len(b.open) == 0 {
		return true
	}
	for _, q := range b.open {
		if q.answer != nil || q.Comment != 0 && !q.isSaved {
			return false // the owner is about to take that
		}
		if q.Comment == 0 && !q.post.isGiven && b.unstored < maxUnstored {
			return false
		}
	}
	return !b.needsCheckpoint() && (!b.reading.known.Before(b.reading.noted) || b.reading.tries.isGiven)
}

// hasRead reports whether the owner has been sent all answers that came before a time.
func (b *board) hasRead(before time.Time) bool {
	return !b.reading.known.Before(before) && len(b.unanswered()) == len(b.open)
}

// unanswered are the open questions to which no answer is known.
func (b *board) unanswered() []*question {
	return slices.DeleteFunc(slices.Clone(b.open), func(q *question) bool { return q.answer != nil })
}

// heard reports whether what the owner waits to hear has come true, once.
func (b *board) heard() bool {
	isSettled := b.isAsked && b.isSettled()
	hasRead := !b.reading.awaited.IsZero() && b.hasRead(b.reading.awaited)
	b.isAsked = b.isAsked && !isSettled
	if hasRead {
		b.reading.awaited = time.Time{}
	}
	return isSettled || hasRead
}

// poll has answers read from time to time.
func (b *board) poll(now time.Time) {
	if len(b.open) > 0 && now.Sub(b.reading.tried) >= pollEvery {
		b.reading.tries = attempts{}
		b.reading.want(now)
	}
}

// task is what is done next, at a time; nil for nothing.
type task struct {
	do func(context.Context)
	at time.Time
}

// next returns the task of People that is due first.
func (p *People) next() task {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first task
	add := func(a *attempts, do func(context.Context)) {
		if !a.isGiven && (first.do == nil || a.next.Before(first.at)) {
			first = task{do, a.next}
		}
	}
	b := &p.board
	for _, q := range b.open {
		if q.Comment == 0 && q.answer == nil && b.isStored(q) {
			add(&q.post, func(ctx context.Context) { p.post(ctx, q) })
		}
	}
	for _, q := range b.closed {
		add(&q.post, func(ctx context.Context) { p.edit(ctx, q) })
	}
	if r := &b.reading; r.wanted.After(r.known) && !b.isEnding && len(b.unanswered()) > 0 {
		add(&r.tries, p.lookUp)
	}
	return first
}
