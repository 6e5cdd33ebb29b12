package job

import (
	"cmp"
	"fmt"
	"time"
)

// CommentKind is where a remark stands.
type CommentKind string

// The kinds of remark.
const (
	IssueComment CommentKind = "comment" // a comment on an issue or a pull request
	ReviewText   CommentKind = "review"  // the text of a review of a pull request
	LineComment  CommentKind = "line"    // a comment on a line of a pull request, mostly part of a review
)

// Comment is what somebody has said on an issue or a pull request. What the forge does not
// tell is zero.
type Comment struct {
	Kind    CommentKind
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
func (r Comment) Name() string { return fmt.Sprintf("%s-%d", r.Kind, r.ID) }

// written is a comment or a review, as the API and payloads have it.
type written struct {
	ID           whole
	Body         string
	Content      string // the text in payloads of Gitea's about reviews
	User         Account
	Created      string `json:"created_at"`
	Submitted    string `json:"submitted_at"` // of reviews; "" for one that is still being written
	IssueURL     string `json:"issue_url"`
	Path         string
	Line         whole
	OriginalLine whole  `json:"original_line"`
	Hunk         string `json:"diff_hunk"`
}

func (w written) remark(kind CommentKind, number int) Comment {
	r := Comment{
		Kind: kind, ID: int64(w.ID), Number: number, Author: w.User, Body: cmp.Or(w.Body, w.Content),
		File: w.Path, Line: int(cmp.Or(w.Line, w.OriginalLine)), Hunk: w.Hunk,
	}
	r.Created, _ = time.Parse(time.RFC3339, cmp.Or(w.Submitted, w.Created)) // zero for what is no time
	return r
}
