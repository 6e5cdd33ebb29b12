package ask

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// QuestionRef identifies a question and the run that asks it.
type QuestionRef struct {
	Token    string `json:"-"` // the question's token, 32 hex digits
	Workflow string `json:"workflow"`
	Key      string `json:"key"`
	Run      string `json:"run"` // workflow id
	Number   int    `json:"number"`
}

// The beginnings of the comments that this package writes. answeredMark is inside a comment whose
// question is no longer open.
const (
	questionMark = "<!-- raymond-question "
	replyPrefix  = "<!-- raymond-reply "
	answeredMark = "<!-- raymond-answered -->"
)

var questionPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^<!-- raymond-question ([0-9a-f]{32}) ([A-Za-z0-9_-]+) -->`)
})

// mark returns the first line of the comment that asks the question.
func (p QuestionRef) mark() string {
	data, err := json.Marshal(p)
	if err != nil {
		panic("internal error: " + err.Error()) // strings and numbers can always be marshaled
	}
	return questionMark + p.Token + " " + base64.RawURLEncoding.EncodeToString(data) + " -->"
}

// ParseQuestionRef reads the marker at the beginning of a comment. ok is false if the comment has no
// valid marker. Anyone can write such a marker.
func ParseQuestionRef(body string) (p QuestionRef, ok bool) {
	m := questionPattern().FindStringSubmatch(body)
	if m == nil {
		return p, false
	}
	data, err := base64.RawURLEncoding.DecodeString(m[2])
	if err != nil || json.Unmarshal(data, &p) != nil || p.Key == "" {
		return QuestionRef{}, false
	}
	p.Token = m[1]
	return p, true
}

// replyMark returns the first line of a reply. to identifies the comment or the subject that the reply is
// about, so that the same reply is not posted twice.
func replyMark(token, to string) string { return replyPrefix + token + " " + to + " -->" }

// IsQuestionOrReply reports whether a comment begins like a question or a reply of this package.
func IsQuestionOrReply(body string) bool {
	return strings.HasPrefix(body, questionMark) || strings.HasPrefix(body, replyPrefix)
}

// PostedQuestion is a question that our account has posted.
type PostedQuestion struct {
	QuestionRef
	Comment int64
	IsOpen  bool // the comment doesn't show an answer yet
}

// OwnComments are the comments on an issue or pull request by our account.
type OwnComments struct {
	Questions []PostedQuestion // the newest first
	ours      []job.Comment
}

// ReadOwnComments reads our account's questions and replies on an issue or pull request that have
// changed since the given time. If the forge does not tell which account the token belongs to, the
// result is empty.
func ReadOwnComments(ctx context.Context, f CommentAPI, number int, since time.Time) (p OwnComments, err error) {
	list, err := f.ListComments(ctx, number, since)
	if err != nil {
		return p, err
	}
	list = slices.DeleteFunc(list, func(r job.Comment) bool { return !IsQuestionOrReply(r.Body) })
	us := account{api: f}
	p.ours, err = us.ownComments(ctx, list, "")
	for _, r := range slices.Backward(p.ours) {
		if pointer, ok := ParseQuestionRef(r.Body); ok {
			p.Questions = append(p.Questions, PostedQuestion{pointer, r.ID, !strings.Contains(r.Body, answeredMark)})
		}
	}
	return p, err
}

// Contains reports whether any of the comments begins with mark.
func (p OwnComments) Contains(mark string) bool {
	return slices.ContainsFunc(p.ours, func(r job.Comment) bool { return strings.HasPrefix(r.Body, mark) })
}

// ParseAnswer returns the text after the prefix that a comment begins with, without its hidden
// parts. ok is false if the comment doesn't begin with the prefix. Leading quoted lines are skipped.
func ParseAnswer(body, prefix string) (answer string, ok bool) {
	rest := text.WithoutHidden(body)
	for isQuoted(rest) || strings.HasPrefix(strings.TrimLeft(rest, " \t"), "\n") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	answer, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t"), prefix)
	if !ok || answer != "" && !unicode.IsSpace([]rune(answer)[0]) {
		return "", false
	}
	return strings.TrimSpace(answer), true
}

// CommentPayload returns the payload for the state that a comment with the prefix starts. For a line
// comment, the payload includes the line and the diff hunk before it. If toPrompt is true, the text is
// fenced.
func CommentPayload(r job.Comment, prefix string, toPrompt bool) string {
	answer, _ := ParseAnswer(r.Body, prefix)
	return job.CleanAnswer(onLine(r, answer), toPrompt)
}

// isQuoted reports whether a text begins with a quoted line.
func isQuoted(s string) bool { return strings.HasPrefix(strings.TrimLeft(s, " \t"), ">") }
