package job

import (
	"context"
	"errors"

	"github.com/google/go-github/v60/github"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// Comment is a comment on an issue or a pull request.
type Comment struct {
	ID     int64
	Author string // login; of an app it ends with "[bot]"
	Body   string
}

// Comments are the comments on one issue or pull request. Each of its methods
// asks once, and takes 10 s at most for a request; whether to ask again is the
// caller's to decide. Their errors are of type *forge.Error.
type Comments struct {
	api    *forge.Client
	number int
}

// Comments returns the comments on the issue or pull request of that number.
func (g *GitHub) Comments(number int) *Comments { return &Comments{g.api, number} }

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
	err = c.api.Do(ctx, forge.Once, "list comments", func(ctx context.Context, gh *github.Client, owner, name string) (*github.Response, error) {
		found, resp, err := gh.Issues.ListComments(ctx, owner, name, c.number, options)
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
	return c.one(ctx, "read a comment", func(ctx context.Context, gh *github.Client, owner, name string) (*github.IssueComment, *github.Response, error) {
		return gh.Issues.GetComment(ctx, owner, name, id)
	})
}

// Create adds a comment. After an error of kind forge.Unanswered there may be one all
// the same.
func (c *Comments) Create(ctx context.Context, body string) (Comment, error) {
	return c.one(ctx, "write a comment", func(ctx context.Context, gh *github.Client, owner, name string) (*github.IssueComment, *github.Response, error) {
		return gh.Issues.CreateComment(ctx, owner, name, c.number, &github.IssueComment{Body: &body})
	})
}

// Edit replaces the text of a comment.
func (c *Comments) Edit(ctx context.Context, id int64, body string) error {
	_, err := c.one(ctx, "edit a comment", func(ctx context.Context, gh *github.Client, owner, name string) (*github.IssueComment, *github.Response, error) {
		return gh.Issues.EditComment(ctx, owner, name, id, &github.IssueComment{Body: &body})
	})
	return err
}

// one asks for something that is answered with a comment. An answer without one
// is as good as none.
func (c *Comments) one(ctx context.Context, op string,
	ask func(ctx context.Context, gh *github.Client, owner, name string) (*github.IssueComment, *github.Response, error),
) (Comment, error) {
	var got Comment
	err := c.api.Do(ctx, forge.Once, op, func(ctx context.Context, gh *github.Client, owner, name string) (*github.Response, error) {
		answer, resp, err := ask(ctx, gh, owner, name)
		if got = comment(answer); err == nil && got.ID == 0 {
			err = errors.New("the API's answer is no comment")
		}
		return resp, err
	})
	return got, err
}

// Delete removes a comment.
func (c *Comments) Delete(ctx context.Context, id int64) error {
	return c.api.Do(ctx, forge.Once, "delete a comment", func(ctx context.Context, gh *github.Client, owner, name string) (*github.Response, error) {
		return gh.Issues.DeleteComment(ctx, owner, name, id)
	})
}

// Self returns the login of the token's own account: the author of the comments
// that it makes.
func (c *Comments) Self(ctx context.Context) (string, error) { return c.api.Login(ctx) }
