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

// queue passes updates to the owner of a run. A separate goroutine, which asks users, sends them.
type queue struct {
	updates chan runner.QuestionUpdate // nothing receives from it after the run has stopped
	wake    chan struct{}              // signals a change; its buffer has room for one signal
	ctx     context.Context            // is canceled by stop, to end the goroutine
	stop    context.CancelFunc
	mu      sync.Mutex // guards the fields of the type that embeds the queue
}

// newQueue returns a queue with room for undelivered updates.
func newQueue(room int) *queue {
	q := &queue{updates: make(chan runner.QuestionUpdate, room), wake: make(chan struct{}, 1)}
	q.ctx, q.stop = context.WithCancel(context.Background())
	return q
}

// Updates implements runner.Prompter.
func (q *queue) Updates() <-chan runner.QuestionUpdate { return q.updates }

// rouse makes the goroutine check the run for new work.
func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default: // a signal is pending
	}
}

// send sends an update to the owner, unless the goroutine has to end.
func (q *queue) send(u runner.QuestionUpdate) {
	select {
	case q.updates <- u:
	case <-q.ctx.Done():
	}
}

// question is an open question in the version that the prompter saw first.
type question struct {
	state.Question // its Comment is set as soon as the comment is posted
	agent          string
	next           string // the state that gets the answer
	since          time.Time
	until          time.Time // zero if the question stays open without limit

	toPrompt  bool // next is a prompt state
	seq       int  // the step in which it was first seen
	isOld     bool // the question was open when the run was resumed
	isSaved   bool // the id of the comment is in the saved run
	isRefused bool // the forge has rejected the comment
	answer    *state.Answer

	// The fields below are used only by the goroutine that makes requests.
	mayExist bool      // a comment with the question may exist
	created  time.Time // when the comment was created; zero if unknown
}

// openQuestions returns the open questions of a run, in the order of their numbers.
func openQuestions(run *state.Run) []*question {
	var open []*question
	for _, a := range run.OpenQuestions() {
		q := *a.Waits.Question
		open = append(open, &question{Question: q, agent: a.ID, next: a.State, since: a.Waits.Since, until: a.Waits.Until, isSaved: q.Comment != 0})
	}
	return open
}

// precedes reports whether the question was asked before comment r was written.
func (q *question) precedes(r job.Comment) bool {
	switch {
	case q.Comment != 0 && r.Kind == job.IssueComment:
		return r.ID > q.Comment
	case !q.created.IsZero():
		return !r.Created.Before(q.created)
	}
	return !r.Created.Before(q.since.Truncate(time.Second))
}

// choose returns the choice that a text names, and whether it names one. If the question has no choices,
// any text is accepted. The text may begin with the number of the question.
func (q *question) choose(text string) (string, bool) {
	if len(q.Choices) == 0 {
		return text, true
	}
	var lines []string
	for line := range strings.Lines(text) {
		if !isQuoted(line) {
			lines = append(lines, line)
		}
	}
	text = strings.TrimSpace(strings.Join(lines, ""))
	if choice, ok := q.MatchAnswer(text); ok {
		return choice, true
	}
	first, rest := firstWord(text)
	if first == strconv.Itoa(q.Number) {
		return q.MatchAnswer(rest)
	}
	return "", false
}

// firstWord splits s after its first word. rest has no white space at its ends.
func firstWord(s string) (word, rest string) {
	at := strings.IndexAny(s, " \t\n")
	if at < 0 {
		return s, ""
	}
	return s[:at], strings.TrimSpace(s[at:])
}
