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

// QuestionRef says which run asks a question.
type QuestionRef struct {
	Token    string `json:"-"` // of the question: 32 hex digits
	Workflow string `json:"workflow"`
	Key      string `json:"key"`
	Run      string `json:"run"` // workflow id
	Number   int    `json:"number"`
}

// How the comments begin that this package writes, and what one with a question that is no
// longer open has in it.
const (
	questionMark = "<!-- raymond-question "
	replyPrefix  = "<!-- raymond-reply "
	answeredMark = "<!-- raymond-answered -->"
)

var marked = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^<!-- raymond-question ([0-9a-f]{32}) ([A-Za-z0-9_-]+) -->`)
})

// mark returns the first line of the comment that asks a question.
func (p QuestionRef) mark() string {
	data, err := json.Marshal(p)
	if err != nil {
		panic("internal error: " + err.Error()) // it has texts and a number
	}
	return questionMark + p.Token + " " + base64.RawURLEncoding.EncodeToString(data) + " -->"
}

// ParseQuestionRef reads the mark that a comment begins with. Anybody can write one.
func ParseQuestionRef(body string) (p QuestionRef, ok bool) {
	m := marked().FindStringSubmatch(body)
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

// replyMark returns the first line of a comment that replies to something. What it replies
// to is in it, so that nobody is told twice.
func replyMark(token, to string) string { return replyPrefix + token + " " + to + " -->" }

// IsQuestionOrReply reports whether a comment begins as those do that ask or reply.
func IsQuestionOrReply(body string) bool {
	return strings.HasPrefix(body, questionMark) || strings.HasPrefix(body, replyPrefix)
}

// PostedQuestion is a question that was asked in a comment of our own account.
type PostedQuestion struct {
	QuestionRef
	Comment int64
	IsOpen  bool // it doesn't say that somebody has answered
}

// OwnComments is an issue or pull request, with what our own account has written there.
type OwnComments struct {
	Questions []PostedQuestion // the newest first
	ours      []job.Comment
}

// ReadOwnComments looks at an issue or a pull request for comments of our own account, changed since
// a time at the earliest. If the service refuses to say whose our token is, there are none.
func ReadOwnComments(ctx context.Context, f CommentAPI, number int, since time.Time) (p OwnComments, err error) {
	list, err := f.ListComments(ctx, number, since)
	if err != nil {
		return p, err
	}
	list = slices.DeleteFunc(list, func(r job.Comment) bool { return !IsQuestionOrReply(r.Body) })
	us := account{of: f}
	p.ours, err = us.wrote(ctx, list, "")
	for _, r := range slices.Backward(p.ours) {
		if pointer, ok := ParseQuestionRef(r.Body); ok {
			p.Questions = append(p.Questions, PostedQuestion{pointer, r.ID, !strings.Contains(r.Body, answeredMark)})
		}
	}
	return p, err
}

// Contains reports whether our own account has said something there that begins so.
func (p OwnComments) Contains(mark string) bool {
	return slices.ContainsFunc(p.ours, func(r job.Comment) bool { return strings.HasPrefix(r.Body, mark) })
}

// ParseAnswer returns what a text says after the prefix that it begins with, as its readers see
// it; false when it doesn't begin so. Lines that quote somebody don't count.
func ParseAnswer(body, prefix string) (said string, ok bool) {
	rest := text.WithoutHidden(body)
	for isQuoted(rest) || strings.HasPrefix(strings.TrimLeft(rest, " \t"), "\n") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	said, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t"), prefix)
	if !ok || said != "" && !unicode.IsSpace([]rune(said)[0]) {
		return "", false
	}
	return strings.TrimSpace(said), true
}

// CommentPayload returns what a remark that begins with the prefix says to the state that it
// starts: for a comment on a line with that line and the part of the diff before it.
func CommentPayload(r job.Comment, prefix string, toPrompt bool) string {
	said, _ := ParseAnswer(r.Body, prefix)
	return job.CleanAnswer(onLine(r, said), toPrompt)
}

// isQuoted reports whether a text begins with a line that quotes somebody.
func isQuoted(s string) bool { return strings.HasPrefix(strings.TrimLeft(s, " \t"), ">") }
