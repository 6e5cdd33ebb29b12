package job

import (
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// payload is an event's JSON. Forges differ in what they leave out and in the
// types of some values, so every value is checked.
type payload map[string]any

// at returns the value below keys, or nil.
func (p payload) at(keys ...string) any {
	var v any = map[string]any(p)
	for _, k := range keys {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[k]
	}
	return v
}

func (p payload) text(keys ...string) string {
	s, _ := p.at(keys...).(string)
	return s
}

// id is a whole number above 0, or 0.
func (p payload) id(keys ...string) int64 {
	n, _ := p.at(keys...).(float64)
	if n < 1 || n > 1<<53 || n != float64(int64(n)) {
		return 0
	}
	return int64(n)
}

// below is the part of the payload below keys.
func (p payload) below(keys ...string) payload {
	object, _ := p.at(keys...).(map[string]any)
	return object
}

func (p payload) account(keys ...string) Account {
	who := p.below(keys...)
	return Account{Login: who.text("login"), Type: who.text("type")}
}

// private tells whether outsiders can't read the repository; nil if unknown.
func (p payload) private() *bool {
	if private, ok := p.at("repository", "private").(bool); ok {
		return &private
	}
	return nil
}

// subject is the issue or pull request that the event is about.
func (p payload) subject() Subject {
	kind, n := p.number()
	if n == 0 {
		return Subject{}
	}
	title := p.text("pull_request", "title")
	if title == "" {
		title = p.text("issue", "title")
	}
	return Subject{Kind: kind, Number: n, Title: text.Before(strings.ToValidUTF8(title, "\uFFFD"), maxTitle)}
}

// number is the issue or pull request that the event is about.
func (p payload) number() (kind string, n int) {
	if n := p.id("pull_request", "number"); n != 0 {
		return KindPullRequest, int(n)
	}
	n = int(p.id("issue", "number"))
	if n == 0 {
		return "", 0
	}
	if isPull, _ := p.at("is_pull").(bool); isPull || p.at("issue", "pull_request") != nil {
		return KindPullRequest, n
	}
	return KindIssue, n
}

// origin tells whether the code that the event is about comes from another
// repository, and whether that is known. A head repository that was deleted, or
// that isn't named where it should be, is another one.
func (p payload) origin(event string) (fork, known bool) {
	switch {
	case event == "workflow_run":
		return !sameRepository(p.below("workflow_run", "head_repository"), p.below("repository")), true
	case p.at("pull_request") != nil || strings.HasPrefix(event, "pull_request"):
		if p.at("pull_request", "head") == nil && event == "pull_request_comment" {
			return false, false
		}
		return !sameRepository(p.below("pull_request", "head", "repo"), p.below("pull_request", "base", "repo")), true
	}
	kind, _ := p.number()
	return false, kind != KindPullRequest && (ofPeople[event] || ofNobody[event])
}

// sameRepository compares two repositories by id, or by name where ids are
// missing. What can't be compared is not the same.
func sameRepository(a, b payload) bool {
	if x, y := a.id("id"), b.id("id"); x != 0 && y != 0 {
		return x == y
	}
	x, y := a.text("full_name"), b.text("full_name")
	return x != "" && strings.EqualFold(x, y)
}
