package ask

import (
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/state"
)

// question is one that is open. What follows isOld is about comments.
type question struct {
	state.Question // as it was when it was last seen; Comment may be known earlier here
	agent          string
	next           string // the state that gets the answer
	toPrompt       bool   // which is a prompt
	since          time.Time
	until          time.Time // zero for never

	seq     int       // of the step in which it was first seen
	isOld   bool      // it was open when the run was resumed, so that a comment may be there
	created time.Time // of the comment; zero when not known
	isSaved bool      // the run knows the comment
	answer  *state.Answer
	post    attempts // at posting it
}

// asked is the question that an agent waits for.
func asked(a *state.Agent) question {
	return question{Question: *a.Waits.Question, agent: a.ID, next: a.State, since: a.Waits.Since, until: a.Waits.Until}
}

// attempts are those at something that may fail.
type attempts struct {
	failed  int
	next    time.Time
	isGiven bool // up
}

// How often something is tried, and the pause after the first failure, which doubles.
const (
	maxAttempts = 5
	firstPause  = time.Second
)

// fail notes a failure. Those that another request can't change end it.
func (a *attempts) fail(now time.Time, isPassing bool) {
	a.next = now.Add(firstPause << a.failed)
	a.failed++
	a.isGiven = !isPassing || a.failed >= maxAttempts
}

// isAfter reports whether a remark was made after the question was asked.
func (q *question) isAfter(r job.Remark) bool {
	switch {
	case q.Comment != 0 && r.Kind == job.OnIssue:
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
	said = unquoted(said)
	if choice, ok := q.Choose(said); ok {
		return choice, true
	}
	first, rest := firstWord(said)
	if first == strconv.Itoa(q.Number) {
		return q.Choose(rest)
	}
	return "", false
}

// payload is what the next state of the agent is given for an answer.
func (q *question) payload(choice string, r job.Remark) string {
	if len(q.Choices) > 0 {
		return choice
	}
	return job.Answer(onLine(r, choice), q.toPrompt)
}

func firstWord(s string) (word, rest string) {
	at := strings.IndexAny(s, " \t\n")
	if at < 0 {
		return s, ""
	}
	return s[:at], strings.TrimSpace(s[at:])
}
