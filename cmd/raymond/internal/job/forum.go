package job

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// maxPages is how many pages of a hundred are read of what was said. GitHub takes 2,500 comments on an issue.
const maxPages = 50

// Remarks returns what was said on an issue or a pull request, and changed since a time at
// the earliest: comments, reviews and comments on lines, the oldest first. It may return
// some that are older. The token may lack the permission to read reviews; then there are none.
func (g *GitHub) Remarks(ctx context.Context, number int, since time.Time) ([]Remark, error) {
	all, err := pages(func(page int) ([]Remark, int, error) { return g.comments(ctx, number, since, page) })
	if err != nil {
		return nil, err
	}
	for _, read := range []func(int) ([]Remark, int, error){
		func(page int) ([]Remark, int, error) { return g.reviews(ctx, number, page) },
		func(page int) ([]Remark, int, error) { return g.onLines(ctx, number, since, page) },
	} {
		more, err := pages(read)
		if isNoPull(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	slices.SortStableFunc(all, func(a, b Remark) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// Comments returns the comments on an issue or a pull request, the oldest first.
func (g *GitHub) Comments(ctx context.Context, number int) ([]Remark, error) {
	return pages(func(page int) ([]Remark, int, error) { return g.comments(ctx, number, time.Time{}, page) })
}

// isNoPull reports whether the forge has said that there is no such pull request, or that
// the token may not read it.
func isNoPull(err error) bool {
	var e *forge.Error
	return errors.As(err, &e) && (e.Kind == forge.Missing || e.Kind == forge.Denied)
}

// pages reads a list, page by page.
func pages(read func(page int) (list []Remark, last int, err error)) (all []Remark, err error) {
	for page, last := 1, 1; page <= min(last, maxPages); page++ {
		list, n, err := read(page)
		if err != nil {
			return nil, err
		}
		all, last = append(all, list...), max(last, n)
	}
	return all, nil
}

// asking is a request, and what is made of its answer.
type asking func(ctx context.Context, gh *github.Client, owner, name string) ([]Remark, *github.Response, error)

// request makes a request, once, of 10 s at most; whether to make it again is the caller's to
// decide. Its error is a *forge.Error. last is the number of the last page, 0 where the answer tells of none.
func (g *GitHub) request(ctx context.Context, op string, what asking) (list []Remark, last int, err error) {
	err = g.api.Do(ctx, forge.Once, op, func(ctx context.Context, gh *github.Client, owner, name string) (resp *github.Response, err error) {
		if list, resp, err = what(ctx, gh, owner, name); resp != nil {
			last = resp.LastPage
		}
		return resp, err
	})
	return list, last, err
}

func page(n int) github.ListOptions { return github.ListOptions{Page: n, PerPage: 100} }

func (g *GitHub) comments(ctx context.Context, number int, since time.Time, n int) ([]Remark, int, error) {
	options := &github.IssueListCommentsOptions{ListOptions: page(n)}
	if !since.IsZero() {
		options.Since = &since
	}
	return g.request(ctx, "list comments", func(ctx context.Context, gh *github.Client, owner, name string) (list []Remark, resp *github.Response, err error) {
		found, resp, err := gh.Issues.ListComments(ctx, owner, name, number, options)
		for _, c := range found {
			r := onIssue(c)
			r.Number = number
			list = append(list, r)
		}
		return list, resp, err
	})
}

func (g *GitHub) reviews(ctx context.Context, number, n int) ([]Remark, int, error) {
	options := page(n)
	return g.request(ctx, "list reviews", func(ctx context.Context, gh *github.Client, owner, name string) (list []Remark, resp *github.Response, err error) {
		found, resp, err := gh.PullRequests.ListReviews(ctx, owner, name, number, &options)
		for _, c := range found {
			if c.SubmittedAt != nil { // else it is still being written
				list = append(list, Remark{
					Kind: Review, ID: c.GetID(), Number: number, Author: account(c.GetUser()), Body: c.GetBody(), Created: c.GetSubmittedAt().Time,
				})
			}
		}
		return list, resp, err
	})
}

func (g *GitHub) onLines(ctx context.Context, number int, since time.Time, n int) ([]Remark, int, error) {
	options := &github.PullRequestListCommentsOptions{Sort: "created", Direction: "asc", Since: since, ListOptions: page(n)}
	return g.request(ctx, "list comments on lines", func(ctx context.Context, gh *github.Client, owner, name string) (list []Remark, resp *github.Response, err error) {
		found, resp, err := gh.PullRequests.ListComments(ctx, owner, name, number, options)
		for _, c := range found {
			list = append(list, Remark{
				Kind: OnLine, ID: c.GetID(), Number: number, Author: account(c.GetUser()), Body: c.GetBody(), Created: c.GetCreatedAt().Time,
				File: c.GetPath(), Line: cmp.Or(c.GetLine(), c.GetOriginalLine()), Hunk: c.GetDiffHunk(),
			})
		}
		return list, resp, err
	})
}

// Comment returns a comment on an issue or a pull request, with that one's number.
func (g *GitHub) Comment(ctx context.Context, id int64) (Remark, error) {
	return g.one(ctx, "read a comment", func(ctx context.Context, gh *github.Client, owner, name string) ([]Remark, *github.Response, error) {
		c, resp, err := gh.Issues.GetComment(ctx, owner, name, id)
		return []Remark{onIssue(c)}, resp, err
	})
}

// one asks for something that is answered with a remark. An answer without one is as good as none.
func (g *GitHub) one(ctx context.Context, op string, what asking) (Remark, error) {
	found, _, err := g.request(ctx, op, what)
	if err != nil {
		return Remark{}, err
	}
	if found[0].ID == 0 {
		return Remark{}, &forge.Error{Op: op, Err: errors.New("the API's answer is no comment")}
	}
	return found[0], nil
}

// Say adds a comment. After an error of kind forge.Unanswered there may be one all the same.
func (g *GitHub) Say(ctx context.Context, number int, body string) (Remark, error) {
	r, err := g.one(ctx, "write a comment", func(ctx context.Context, gh *github.Client, owner, name string) ([]Remark, *github.Response, error) {
		c, resp, err := gh.Issues.CreateComment(ctx, owner, name, number, &github.IssueComment{Body: &body})
		return []Remark{onIssue(c)}, resp, err
	})
	r.Number = number
	return r, err
}

// Edit replaces the text of a comment on an issue.
func (g *GitHub) Edit(ctx context.Context, id int64, body string) error {
	_, err := g.one(ctx, "edit a comment", func(ctx context.Context, gh *github.Client, owner, name string) ([]Remark, *github.Response, error) {
		c, resp, err := gh.Issues.EditComment(ctx, owner, name, id, &github.IssueComment{Body: &body})
		return []Remark{onIssue(c)}, resp, err
	})
	return err
}

// Delete removes a comment on an issue.
func (g *GitHub) Delete(ctx context.Context, id int64) error {
	_, _, err := g.request(ctx, "delete a comment", func(ctx context.Context, gh *github.Client, owner, name string) ([]Remark, *github.Response, error) {
		resp, err := gh.Issues.DeleteComment(ctx, owner, name, id)
		return nil, resp, err
	})
	return err
}

// Self returns the login of the token's own account: the author of what Say says.
func (g *GitHub) Self(ctx context.Context) (string, error) { return g.api.Login(ctx) }

// Author returns who has opened an issue or a pull request.
func (g *GitHub) Author(ctx context.Context, number int) (who Account, err error) {
	err = g.api.Do(ctx, forge.Once, "ask who opened an issue", func(ctx context.Context, gh *github.Client, owner, name string) (*github.Response, error) {
		issue, resp, err := gh.Issues.Get(ctx, owner, name, number)
		who = account(issue.GetUser())
		return resp, err
	})
	return who, err
}

func account(u *github.User) Account { return Account{Login: u.GetLogin(), Type: u.GetType()} }

func onIssue(c *github.IssueComment) Remark {
	number, _ := strconv.Atoi(path.Base(c.GetIssueURL())) // 0 where the forge does not say
	return Remark{Kind: OnIssue, ID: c.GetID(), Number: number, Author: account(c.GetUser()), Body: c.GetBody(), Created: c.GetCreatedAt().Time}
}
