package job

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// Comment is a comment on an issue or a pull request.
type Comment struct {
	ID     int64
	Author string // login; of an app it ends with "[bot]"
	Body   string
}

// Comments are the comments on one issue or pull request. Each of its methods
// asks once, and takes 10 s at most for a request; whether to ask again is the
// caller's to decide. Their errors are of type *CommentError.
type Comments struct {
	g      *GitHub
	number int
}

// Comments returns the comments on the issue or pull request of that number.
func (g *GitHub) Comments(number int) *Comments { return &Comments{g, number} }

// commentPages bounds how much of an issue List reads: so many requests of a
// hundred comments each.
const commentPages = 10

// List returns the comments, the oldest first. Of an issue with more than a
// thousand it leaves out some in the middle.
func (c *Comments) List(ctx context.Context) ([]Comment, error) {
	first, last, err := c.page(ctx, 1)
	if err != nil {
		return nil, err
	}
	var rest []Comment
	for n := last; n > max(1, last-commentPages+1); n-- {
		page, _, err := c.page(ctx, n)
		if err != nil {
			return nil, err
		}
		rest = append(page, rest...)
	}
	return append(first, rest...), nil
}

// page returns a page of comments, and the number of the last page: 1 where the
// service tells of no other, as Gitea, which returns all at once.
func (c *Comments) page(ctx context.Context, n int) (list []Comment, last int, err error) {
	options := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{Page: n, PerPage: 100}}
	err = c.ask(ctx, func(ctx context.Context) (*github.Response, error) {
		found, resp, err := c.g.gh.Issues.ListComments(ctx, c.g.owner, c.g.repo, c.number, options)
		for _, f := range found {
			list = append(list, comment(f))
		}
		if resp != nil {
			last = max(1, resp.LastPage)
		}
		return resp, err
	})
	return list, last, err
}

// comment takes from an answer what is there.
func comment(c *github.IssueComment) Comment {
	return Comment{ID: c.GetID(), Author: c.GetUser().GetLogin(), Body: c.GetBody()}
}

// Comment returns one of the comments.
func (c *Comments) Comment(ctx context.Context, id int64) (Comment, error) {
	return c.one(ctx, func(ctx context.Context) (*github.IssueComment, *github.Response, error) {
		return c.g.gh.Issues.GetComment(ctx, c.g.owner, c.g.repo, id)
	})
}

// Create adds a comment. After an error of kind Passing there may be one all the
// same.
func (c *Comments) Create(ctx context.Context, body string) (Comment, error) {
	return c.one(ctx, func(ctx context.Context) (*github.IssueComment, *github.Response, error) {
		return c.g.gh.Issues.CreateComment(ctx, c.g.owner, c.g.repo, c.number, &github.IssueComment{Body: &body})
	})
}

// Edit replaces the text of a comment.
func (c *Comments) Edit(ctx context.Context, id int64, body string) error {
	_, err := c.one(ctx, func(ctx context.Context) (*github.IssueComment, *github.Response, error) {
		return c.g.gh.Issues.EditComment(ctx, c.g.owner, c.g.repo, id, &github.IssueComment{Body: &body})
	})
	return err
}

// one asks for something that is answered with a comment. An answer without one
// is as good as none.
func (c *Comments) one(ctx context.Context, ask func(context.Context) (*github.IssueComment, *github.Response, error)) (Comment, error) {
	var got Comment
	err := c.ask(ctx, func(ctx context.Context) (*github.Response, error) {
		answer, resp, err := ask(ctx)
		if got = comment(answer); err == nil && got.ID == 0 {
			err = errors.New("the API's answer is no comment")
		}
		return resp, err
	})
	return got, err
}

// Delete removes a comment.
func (c *Comments) Delete(ctx context.Context, id int64) error {
	return c.ask(ctx, func(ctx context.Context) (*github.Response, error) {
		return c.g.gh.Issues.DeleteComment(ctx, c.g.owner, c.g.repo, id)
	})
}

// Self returns the login of the token's own account: the author of the comments
// that it makes. The token of an app can't ask REST for it, that of the job on
// GitHub is one, and Gitea has no GraphQL.
func (c *Comments) Self(ctx context.Context) (string, error) {
	login := ""
	if c.g.graphql != "" {
		err := c.ask(ctx, func(ctx context.Context) (resp *github.Response, err error) {
			login, resp, err = c.viewer(ctx)
			return resp, err
		})
		if login != "" || isPassing(err) {
			return login, err
		}
	}
	err := c.ask(ctx, func(ctx context.Context) (*github.Response, error) {
		user, resp, err := c.g.gh.Users.Get(ctx, "")
		login = user.GetLogin()
		return resp, err
	})
	return login, err
}

// viewer asks GraphQL who is asking.
func (c *Comments) viewer(ctx context.Context) (string, *github.Response, error) {
	req, err := c.g.gh.NewRequest(http.MethodPost, c.g.graphql, map[string]string{"query": "query{viewer{login}}"})
	if err != nil {
		return "", nil, err
	}
	var answer struct {
		Data struct{ Viewer struct{ Login string } }
	}
	resp, err := c.g.gh.Do(ctx, req, &answer)
	return answer.Data.Viewer.Login, resp, err
}

func isPassing(err error) bool {
	var e *CommentError
	return errors.As(err, &e) && (e.Kind == Passing || e.Kind == Limited)
}

// Trouble is what kind of thing keeps a request about comments from being done.
type Trouble int

// The kinds of trouble.
const (
	Passing   Trouble = iota // the service or the network; it may have been done all the same
	Limited                  // there were too many requests; it was not done
	Missing                  // there is no such thing, or the token can't see it
	Forbidden                // the token may not do it
	Refused                  // something else that another try does not change
)

// CommentError says why a request about comments was not done, without
// addresses.
type CommentError struct {
	Kind Trouble
	Wait time.Duration // of Limited: how long to wait, when the service said so
	What string
}

// Error implements error.
func (e *CommentError) Error() string { return e.What }

// ask asks once.
func (c *Comments) ask(ctx context.Context, request func(context.Context) (*github.Response, error)) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	resp, err := request(ctx)
	if err == nil {
		return nil
	}
	status, header := 0, http.Header{}
	if resp != nil && resp.Response != nil {
		status, header = resp.StatusCode, resp.Header
	}
	return judgeComment(status, header, err)
}

// judgeComment classes an error by what the service answered.
func judgeComment(status int, header http.Header, err error) *CommentError {
	e := &CommentError{What: explain(status, err).Error()}
	limited, wait := rateLimit(status, header, err)
	switch {
	case limited:
		e.Kind, e.Wait, e.What = Limited, wait, "the API's rate limit is used up"
	case status == http.StatusNotFound, status == http.StatusGone:
		e.Kind, e.What = Missing, "the API knows no such issue, pull request or comment, or github-token can't see it ("+strconv.Itoa(status)+")"
	case status == http.StatusUnauthorized:
		e.Kind = Forbidden
	case status == http.StatusForbidden:
		e.Kind, e.What = Forbidden, "github-token may not comment (403"+said(err)+")"
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		e.Kind, e.What = Refused, e.What+said(err)
	}
	return e
}

// said is the message in the API's answer.
func said(err error) string {
	var answer *github.ErrorResponse
	if !errors.As(err, &answer) || answer.Message == "" {
		return ""
	}
	return ", " + shorten(answer.Message)
}

// rateLimit tells the primary and the secondary limit from other refusals, and
// how long the service wants to be left alone; 0 when it does not say. The library
// does not ask while it knows of a limit, and then there is no header.
func rateLimit(status int, header http.Header, err error) (limited bool, wait time.Duration) {
	var primary *github.RateLimitError
	var secondary *github.AbuseRateLimitError
	isPrimary, isSecondary := errors.As(err, &primary), errors.As(err, &secondary)
	if status != http.StatusForbidden && status != http.StatusTooManyRequests && !isPrimary && !isSecondary {
		return false, 0
	}
	wait, isTold := waitTold(header)
	switch {
	case isTold:
		return true, wait
	case isPrimary && !primary.Rate.Reset.IsZero():
		return true, time.Until(primary.Rate.Reset.Time)
	case isSecondary && secondary.RetryAfter != nil:
		return true, *secondary.RetryAfter
	}
	return status == http.StatusTooManyRequests || isPrimary || isSecondary || strings.Contains(said(err), "rate limit"), 0
}

// waitTold is how long an answer wants its service to be left alone.
func waitTold(header http.Header) (wait time.Duration, isTold bool) {
	if after, err := strconv.Atoi(header.Get("Retry-After")); err == nil && after >= 0 {
		return time.Duration(after) * time.Second, true
	}
	reset, err := strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || header.Get("X-RateLimit-Remaining") != "0" {
		return 0, false
	}
	return time.Until(time.Unix(reset, 0)), true
}

// sameHost reports whether an address is at the host of the API, so that it may
// be told the token.
func sameHost(address string, base *url.URL) bool {
	u, err := url.Parse(address)
	return err == nil && address != "" && u.Host == base.Host && u.Scheme == base.Scheme
}
