package ask

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// Pointer says which run asks a question.
type Pointer struct {
	Token    string `json:"-"` // of the question: 32 hex digits
	Workflow string `json:"workflow"`
	Key      string `json:"key"`
	Run      string `json:"run"` // workflow id
	Number   int    `json:"number"`
}

const questionMark = "<!-- raymond-question "

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
func replyMark(token, to string) string { return "<!-- raymond-reply " + token + " " + to + " -->" }

// IsMarked reports whether a comment begins as those do that this package writes.
func IsMarked(body string) bool {
	return strings.HasPrefix(body, questionMark) || strings.HasPrefix(body, "<!-- raymond-reply ")
}
