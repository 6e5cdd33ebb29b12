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

// Pointer says which run asks a question.
type Pointer struct {
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
func (p Pointer) mark() string {
	data, err := json.Marshal(p)
	if err != nil {
		panic("internal error: " + err.Error()) // it has texts and a number
	}
	return questionMark + p.Token + " " + base64.RawURLEncoding.EncodeToString(data) + " -->"
}

// ParsePointer reads the mark that a comment begins with. Anybody can write one.
func ParsePointer(body string) (p Pointer, ok bool) {
	m := marked().FindStringSubmatch(body)
	if m == nil {
		return p, false
	}
	data, err := base64.RawURLEncoding.DecodeString(m[2])
	if err != nil || json.Unmarshal(data, &p) != nil || p.Key == "" {
		return Pointer{}, false
	}
	p.Token = m[1]
	return p, true
}

// replyMark returns the first line of a comment that replies to something. What it replies
// to is in it, so that nobody is told twice.
func replyMark(token, to string) string { return replyPrefix + token + " " + to + " -->" }

// IsMarked reports whether a comment begins as those do that ask or reply.
func IsMarked(body string) bool {
	return strings.HasPrefix(body, questionMark) || strings.HasPrefix(body, replyPrefix)
}

// Posted is a question that was asked in a comment of our own account.
type Posted struct {
	Pointer
	Comment int64
	IsOpen  bool // it doesn't say that somebody has answered
}

// Place is an issue or pull request, with what our own account has written there.
type Place struct {
	Posted []Posted // the newest first
	ours   []job.Remark
}

// Look looks at an issue or a pull request for comments of our own account, changed since
// a time at the earliest. If the service refuses to say whose our token is, there are none.
func Look(ctx context.Context, f Forum, number int, since time.Time) (p Place, err error) {
	list, err := f.Remarks(ctx, number, since)
	if err != nil {
		return p, err
	}
	list = slices.DeleteFunc(list, func(r job.Remark) bool { return !IsMarked(r.Body) })
	us := account{of: f}
	p.ours, err = us.wrote(ctx, list, "")
	for _, r := range slices.Backward(p.ours) {
		if pointer, ok := ParsePointer(r.Body); ok {
			p.Posted = append(p.Posted, Posted{pointer, r.ID, !strings.Contains(r.Body, answeredMark)})
		}
	}
	return p, err
}

// Says reports whether our own account has said something there that begins so.
func (p Place) Says(mark string) bool {
	return slices.ContainsFunc(p.ours, func(r job.Remark) bool { return strings.HasPrefix(r.Body, mark) })
}

// Call returns what a text says after the prefix that it begins with, as its readers see
// it; false when it doesn't begin so. Lines that quote somebody don't count.
func Call(body, prefix string) (said string, ok bool) {
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

// Payload returns what a remark that begins with the prefix says to the state that it
// starts: for a comment on a line with that line and the part of the diff before it.
func Payload(r job.Remark, prefix string, toPrompt bool) string {
	said, _ := Call(r.Body, prefix)
	return job.Answer(onLine(r, said), toPrompt)
}

// isQuoted reports whether a text begins with a line that quotes somebody.
func isQuoted(s string) bool { return strings.HasPrefix(strings.TrimLeft(s, " \t"), ">") }
