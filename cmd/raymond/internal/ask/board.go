package ask

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// pollEvery is how often answers are looked for while agents work.
const pollEvery = time.Minute

// maxUnstored is how many saves may fail before the run no longer waits for one that has
// a question.
const maxUnstored = 3

// board is what is known of the questions of a run, and decides what is done next.
type board struct {
	old    map[string]bool // tokens of the questions that the run brought with it
	open   []*question     // in the order of their numbers
	closed []*question     // whose comments are to say how they were answered

	seq      int // of the last step
	stored   int // the step that the last checkpoint has
	quiet    int // the first step since which all agents wait; 0: some work
	unstored int // saves that have failed since a question was asked

	look look

	isAsked  bool // the owner waits to hear that all is settled
	isEnding bool // the run has stopped
}

// newBoard returns the board of a run before it is driven, and before its first step is noted.
func newBoard(run *state.Run) board {
	b := board{old: map[string]bool{}}
	for _, a := range run.OpenQuestions() {
		b.old[a.Waits.Question.Token] = true
	}
	return b
}

// look is how far the answers of people are known.
type look struct {
	version  int // counts what changed in the run
	read     int // the version at which answers were last read
	attempts attempts
	isDue    bool      // answers are to be read
	at       time.Time // when they were last read, or tried to
	to       time.Time // all answers that came before are known
	awaited  time.Time // the owner waits to hear that all are known that came before; zero: it doesn't
}

// note takes over what a step has changed. isKept says that what is saved is stored.
func (b *board) note(run *state.Run, now time.Time, isKept bool) {
	b.seq = run.Progress.Seq
	b.look.version++
	if isKept {
		b.stored = b.seq
	}
	if slices.ContainsFunc(run.Agents, func(a *state.Agent) bool { return a.Status == state.Ready || a.Status == state.Busy }) {
		b.quiet, b.isAsked = 0, false
	} else if b.quiet == 0 {
		b.quiet = b.seq
	}
	b.look.isDue = b.look.isDue || b.isAsked // it waits to hear of this state of things
	var open []*question
	for _, a := range run.OpenQuestions() {
		open = append(open, b.see(a))
	}
	for _, q := range b.open {
		if isOver := q.answer != nil || !q.until.IsZero() && !now.Before(q.until); !slices.Contains(open, q) && q.Comment != 0 && isOver {
			q.post = attempts{}
			b.closed = append(b.closed, q)
		}
	}
	b.open = open
}

// see returns the question that an agent waits for.
func (b *board) see(a *state.Agent) *question {
	seen := *a.Waits.Question
	for _, q := range b.open {
		if q.Token != seen.Token {
			continue
		}
		if q.isSaved = seen.Comment != 0; q.isSaved {
			q.Comment = seen.Comment
		}
		return q
	}
	q := asked(a)
	q.seq, q.isOld, q.isSaved = b.seq, b.old[seen.Token], seen.Comment != 0
	if q.isOld {
		b.look.isDue = true
	} else {
		b.unstored = 0
	}
	return &q
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
	return !b.needsCheckpoint() && (b.look.read == b.look.version || b.look.attempts.isGiven)
}

// hasRead reports whether the owner has been sent all answers that came before a time.
func (b *board) hasRead(before time.Time) bool {
	isAnswered := func(q *question) bool { return q.answer != nil }
	return b.look.to.After(before) && !slices.ContainsFunc(b.open, isAnswered)
}

// poll has answers read from time to time.
func (b *board) poll(now time.Time) {
	if len(b.open) > 0 && now.Sub(b.look.at) >= pollEvery {
		b.look.isDue, b.look.attempts = true, attempts{}
	}
}

// kind is a kind of task.
type kind int

// The kinds of task.
const (
	nothing kind = iota
	posting
	editing
	lookup // for answers
)

// task is what is done next, at a time.
type task struct {
	kind     kind
	question *question
	at       time.Time
}

// next returns the task that is due first.
func (b *board) next() task {
	var first task
	add := func(k kind, q *question, a *attempts) {
		if !a.isGiven && (first.kind == nothing || a.next.Before(first.at)) {
			first = task{k, q, a.next}
		}
	}
	for _, q := range b.open {
		if q.Comment == 0 && q.answer == nil && b.isStored(q) {
			add(posting, q, &q.post)
		}
	}
	for _, q := range b.closed {
		add(editing, q, &q.post)
	}
	if b.look.isDue && !b.isEnding && slices.ContainsFunc(b.open, func(q *question) bool { return q.answer == nil }) {
		add(lookup, nil, &b.look.attempts)
	}
	return first
}
