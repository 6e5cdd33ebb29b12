package job

import (
	"cmp"
	"fmt"
	"time"
)

// RemarkKind is where a remark stands.
type RemarkKind string

// The kinds of remark.
const (
	OnIssue RemarkKind = "comment" // a comment on an issue or a pull request
	Review  RemarkKind = "review"  // the text of a review of a pull request
	OnLine  RemarkKind = "line"    // a comment on a line of a pull request, mostly part of a review
)

// Remark is what somebody has said on an issue or a pull request. What the forge does not
// tell is zero.
type Remark struct {
	Kind    RemarkKind
	ID      int64 // among those of its kind
	Number  int   // of the issue or pull request
	Author  Account
	Body    string
	Created time.Time

	// Of a comment on a line: the file, the line, and the part of the diff before it.
	File string
	Line int
	Hunk string
}

// Name tells a remark from all others of the repository.
func (r Remark) Name() string { return fmt.Sprintf("%s-%d", r.Kind, r.ID) }

// remark is what the event is about, when that is something that somebody has said. Of
// what is said elsewhere than on an issue or a pull request there is only the text.
func (p payload) remark(event string, number int) Remark {
	said, when := p.below("comment"), "created_at"
	var r Remark
	switch event {
	case "issue_comment", "pull_request_comment":
		r.Kind = OnIssue
	case "pull_request_review_comment":
		r.Kind = OnLine
		r.File, r.Hunk = said.text("path"), said.text("diff_hunk")
		r.Line = int(cmp.Or(said.id("line"), said.id("original_line")))
	case "pull_request_review":
		r.Kind = Review
		said, when = p.below("review"), "submitted_at"
	}
	r.Body = said.text("body")
	if r.Kind == "" {
		return r
	}
	r.ID, r.Number, r.Author = said.id("id"), number, said.account("user")
	r.Body = cmp.Or(r.Body, said.text("content")) // Gitea's reviews
	if r.ID == 0 && r.Body == "" {
		return Remark{}
	}
	if t, err := time.Parse(time.RFC3339, said.text(when)); err == nil {
		r.Created = t
	}
	return r
}
