package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// maxPages is the maximum number of pages that one call reads. A page contains up to 100 comments.
// GitHub allows 2,500 comments on an issue.
const maxPages = 50

// ListComments returns the comments, reviews and line comments on an issue or a pull request that have
// changed since the given time, the oldest first. The result may also contain older ones. If the token
// may not read reviews, the result contains neither reviews nor line comments.
func (g *GitHub) ListComments(ctx context.Context, number int, since time.Time) ([]Comment, error) {
	all, err := g.list(ctx, IssueComment, number, since)
	if err != nil {
		return nil, err
	}
	for _, kind := range []CommentKind{ReviewText, LineComment} {
		more, err := g.list(ctx, kind, number, since)
		var e *forge.Error
		if errors.As(err, &e) && (e.Kind == forge.Missing || e.Kind == forge.Denied) {
			break // the pull request does not exist, or the token may not read it
		}
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	slices.SortStableFunc(all, func(a, b Comment) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// ListIssueComments returns all comments on an issue or a pull request, the oldest first. Reviews and
// line comments are not included.
func (g *GitHub) ListIssueComments(ctx context.Context, number int) ([]Comment, error) {
	return g.list(ctx, IssueComment, number, time.Time{})
}

// lists describes the requests that list comments, by the kind of comment.
var lists = map[CommentKind]struct {
	op, path string
	query    url.Values
}{
	IssueComment: {"list comments", "issues/%d/comments?%s", nil},
	ReviewText:   {"list reviews", "pulls/%d/reviews?%s", nil},
	LineComment:  {"list comments on lines", "pulls/%d/comments?%s", url.Values{"sort": {"created"}, "direction": {"asc"}}},
}

// list reads all comments of one kind, page by page. It leaves out reviews that are drafts.
func (g *GitHub) list(ctx context.Context, kind CommentKind, number int, since time.Time) (all []Comment, err error) {
	query := url.Values{"per_page": {"100"}}
	maps.Copy(query, lists[kind].query)
	if !since.IsZero() {
		query.Set("since", since.Format(time.RFC3339))
	}
	for page, last := 1, 1; page <= min(last, maxPages); page++ {
		var found []apiComment
		query.Set("page", strconv.Itoa(page))
		n, err := g.api.Do(ctx, forge.Once, forge.Request{Op: lists[kind].op, Path: fmt.Sprintf(lists[kind].path, number, query.Encode()), To: &found})
		if err != nil {
			return nil, err
		}
		for _, w := range found {
			if kind != ReviewText || w.Submitted != "" {
				all = append(all, w.comment(kind, number))
			}
		}
		last = max(last, n)
	}
	return all, nil
}

// ReadComment returns a comment on an issue or a pull request. Its Number is set if the forge reports it.
func (g *GitHub) ReadComment(ctx context.Context, id int64) (Comment, error) {
	return g.requestComment(ctx, forge.Request{Op: "read a comment", Path: fmt.Sprintf("issues/comments/%d", id)})
}

// requestComment makes a request whose response is a comment. Any other response is an error.
func (g *GitHub) requestComment(ctx context.Context, q forge.Request) (Comment, error) {
	var w apiComment
	q.To = &w
	_, err := g.api.Do(ctx, forge.Once, q)
	if err == nil && w.ID == 0 {
		err = &forge.Error{Op: q.Op, Err: errors.New("the API's response is not a comment")}
	}
	if err != nil {
		return Comment{}, err
	}
	number, _ := strconv.Atoi(path.Base(w.IssueURL)) // 0 if the forge does not report the issue
	return w.comment(IssueComment, number), nil
}

// CreateComment adds a comment to an issue or a pull request. If the error is of kind forge.Unanswered,
// the comment may have been created.
func (g *GitHub) CreateComment(ctx context.Context, number int, body string) (Comment, error) {
	r, err := g.requestComment(ctx, forge.Request{
		Op: "write a comment", Method: http.MethodPost, Path: fmt.Sprintf("issues/%d/comments", number), Body: map[string]string{"body": body},
	})
	r.Number = number
	return r, err
}

// EditComment replaces the text of a comment on an issue or a pull request.
func (g *GitHub) EditComment(ctx context.Context, id int64, body string) error {
	_, err := g.requestComment(ctx, forge.Request{
		Op: "edit a comment", Method: http.MethodPatch, Path: fmt.Sprintf("issues/comments/%d", id), Body: map[string]string{"body": body},
	})
	return err
}

// DeleteComment removes a comment on an issue or a pull request.
func (g *GitHub) DeleteComment(ctx context.Context, id int64) error {
	_, err := g.api.Do(ctx, forge.Once, forge.Request{Op: "delete a comment", Method: http.MethodDelete, Path: fmt.Sprintf("issues/comments/%d", id)})
	return err
}

// OwnLogin returns the login of the account that the token belongs to. CreateComment writes comments as
// this account.
func (g *GitHub) OwnLogin(ctx context.Context) (string, error) { return g.api.Login(ctx) }

// IssueAuthor returns the author of an issue or a pull request.
func (g *GitHub) IssueAuthor(ctx context.Context, number int) (Account, error) {
	var issue struct{ User Account }
	_, err := g.api.Do(ctx, forge.Once, forge.Request{Op: "look up the author of an issue", Path: fmt.Sprintf("issues/%d", number), To: &issue})
	return issue.User, err
}

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
