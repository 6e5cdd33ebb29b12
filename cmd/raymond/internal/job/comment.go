package job

import (
	"cmp"
	"fmt"
	"time"
)

// CommentKind is the kind of a comment.
type CommentKind string

// The kinds of comments.
const (
	IssueComment CommentKind = "comment" // a comment on an issue or a pull request
	ReviewText   CommentKind = "review"  // the text of a review of a pull request
	LineComment  CommentKind = "line"    // a comment on a line of a pull request, usually part of a review
)

// Comment is a comment or a review on an issue or a pull request. Fields that the forge does not
// provide are zero.
type Comment struct {
	Kind    CommentKind
	ID      int64 // unique among comments of its kind
	Number  int   // number of the issue or pull request
	Author  Account
	Body    string
	Created time.Time

	// For a line comment: the file, the line, and the diff hunk before the line.
	File string
	Line int
	Hunk string
}

// Name returns a name for the comment that is unique in the repository.
func (r Comment) Name() string { return fmt.Sprintf("%s-%d", r.Kind, r.ID) }

// apiComment is a comment or a review as the API's responses and event payloads contain it.
type apiComment struct {
	ID           whole
	Body         string
	Content      string // used instead of Body in Gitea's payloads about reviews
	User         Account
	Created      string `json:"created_at"`
	Submitted    string `json:"submitted_at"` // for reviews; empty for a draft
	IssueURL     string `json:"issue_url"`
	Path         string
	Line         whole
	OriginalLine whole  `json:"original_line"`
	Hunk         string `json:"diff_hunk"`
}

// comment converts w to a Comment of the given kind on the issue or pull request number.
func (w apiComment) comment(kind CommentKind, number int) Comment {
	r := Comment{
		Kind: kind, ID: int64(w.ID), Number: number, Author: w.User, Body: cmp.Or(w.Body, w.Content),
		File: w.Path, Line: int(cmp.Or(w.Line, w.OriginalLine)), Hunk: w.Hunk,
	}
	r.Created, _ = time.Parse(time.RFC3339, cmp.Or(w.Submitted, w.Created)) // zero if it can't be parsed
	return r
}
