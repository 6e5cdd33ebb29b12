package ask

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// queue brings the owner of a run what a goroutine has learnt from people.
type queue struct {
	updates chan runner.QuestionUpdate // after the run has stopped nobody receives
	wake    chan struct{}              // something has changed; has room for one
	ctx     context.Context            // ends when the goroutine is to end
	stop    context.CancelFunc
	mu      sync.Mutex // guards what whoever has a queue knows of the run
}

// newQueue returns a queue that has room for updates which nobody has received yet.
func newQueue(room int) *queue {
	q := &queue{updates: make(chan runner.QuestionUpdate, room), wake: make(chan struct{}, 1)}
	q.ctx, q.stop = context.WithCancel(context.Background())
	return q
}

// Updates implements runner.People.
func (q *queue) Updates() <-chan runner.QuestionUpdate { return q.updates }

// rouse has the goroutine look at the run again.
func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default: // it is to look anyway
	}
}

// send tells the owner something, unless the goroutine is to end.
func (q *queue) send(u runner.QuestionUpdate) {
	select {
	case q.updates <- u:
	case <-q.ctx.Done():
	}
}

// question is one that is open, as it was when it was first seen. What follows until is about comments.
type question struct {
	state.Question // Comment may be known earlier here than in the run
	agent          string
	next           string // the state that gets the answer
	since          time.Time
	until          time.Time // zero for never

	toPrompt  bool // next is a prompt
	seq       int  // of the step in which it was first seen
	isOld     bool // it was open when the run was resumed
	isSaved   bool // the run knows the comment
	isRefused bool // the forge doesn't let it be asked
	answer    *state.Answer

	// Of whoever asks the forge alone:
	mayBeThere bool      // a comment with it
	created    time.Time // of the comment; zero when not known
}

// openOf are the open questions of a run, in the order of their numbers.
func openOf(run *state.Run) []*question {
	var open []*question
	for _, a := range run.OpenQuestions() {
		q := *a.Waits.Question
		open = append(open, &question{Question: q, agent: a.ID, next: a.State, since: a.Waits.Since, until: a.Waits.Until, isSaved: q.Comment != 0})
	}
	return open
}

// isAfter reports whether a remark was made after the question was asked.
func (q *question) isAfter(r job.Comment) bool {
	switch {
	case q.Comment != 0 && r.Kind == job.IssueComment:
		return r.ID > q.Comment
	case !q.created.IsZero():
		return !r.Created.Before(q.created)
	}
	return !r.Created.Before(q.since.Truncate(time.Second))
}

// choose returns what a text answers; false when that is none of the choices. An answer
// may begin with the question's number.
func (q *question) choose(said string) (string, bool) {
	if len(q.Choices) == 0 {
		return said, true
	}
	var lines []string
	for line := range strings.Lines(said) {
		if !isQuoted(line) {
			lines = append(lines, line)
		}
	}
	said = strings.TrimSpace(strings.Join(lines, ""))
	if choice, ok := q.MatchAnswer(said); ok {
		return choice, true
	}
	first, rest := firstWord(said)
	if first == strconv.Itoa(q.Number) {
		return q.MatchAnswer(rest)
	}
	return "", false
}

func firstWord(s string) (word, rest string) {
	at := strings.IndexAny(s, " \t\n")
	if at < 0 {
		return s, ""
	}
	return s[:at], strings.TrimSpace(s[at:])
}
