package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// askTime is how long a question to the API may take, retries included.
const askTime = 10 * time.Second

// askWaits are the pauses before each further try.
var askWaits = []time.Duration{500 * time.Millisecond, 2 * time.Second}

// GitHubOptions say how the API is reached.
type GitHubOptions struct {
	URL        string // GITHUB_API_URL; "" for GitHub's own
	GraphQL    string // GITHUB_GRAPHQL_URL; "" where there is none
	Token      string
	Repository string                                     // owner/name
	Sleep      func(context.Context, time.Duration) error // nil: real time
}

// GitHub asks the REST API who may do what, and where a pull request is from.
// Each question takes 10 s at most.
type GitHub struct {
	gh          *github.Client
	owner, repo string
	graphql     string // "": not to be asked
	sleep       func(context.Context, time.Duration) error
}

// NewGitHub returns a client for one repository.
func NewGitHub(o GitHubOptions) (*GitHub, error) {
	owner, repo, ok := strings.Cut(o.Repository, "/")
	if !ok || owner == "" || repo == "" || strings.Contains(repo, "/") {
		return nil, fmt.Errorf("%q is no repository of the form owner/name", shorten(o.Repository))
	}
	base, err := url.Parse(strings.TrimRight(firstText(o.URL, "https://api.github.com"), "/") + "/")
	if err != nil || base.Host == "" {
		return nil, errors.New("the address of the API is no URL")
	}
	g := &GitHub{owner: url.PathEscape(owner), repo: url.PathEscape(repo), sleep: o.Sleep}
	g.gh = github.NewClient(&http.Client{CheckRedirect: stayOn(base.Host)})
	if o.Token != "" {
		g.gh = g.gh.WithAuthToken(o.Token)
	}
	g.gh.BaseURL = base
	if sameHost(o.GraphQL, base) {
		g.graphql = o.GraphQL
	}
	if g.sleep == nil {
		g.sleep = pause
	}
	return g, nil
}

// stayOn refuses redirects to other hosts, which the library would send the token
// to.
func stayOn(host string) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != host || len(via) > 3 {
			return errors.New("redirected to another place")
		}
		return nil
	}
}

// Permission implements Permissions.
func (g *GitHub) Permission(ctx context.Context, login string) (string, error) {
	var level string
	err := g.try(ctx, func(ctx context.Context) (*github.Response, error) {
		answer, resp, err := g.gh.Repositories.GetPermissionLevel(ctx, g.owner, g.repo, url.PathEscape(login))
		level = answer.GetPermission()
		return resp, err
	})
	if err == nil && level == "" {
		err = errors.New("the API names no permission")
	}
	return level, err
}

// FindHead completes an event on a pull request whose payload doesn't tell where
// the code is from, such as a comment. It needs pull-requests: read; on an error
// the event stays as it is.
func (g *GitHub) FindHead(ctx context.Context, e *Event) error {
	if e.HeadKnown || e.Kind != KindPullRequest {
		return nil
	}
	var head, base int64
	err := g.try(ctx, func(ctx context.Context) (*github.Response, error) {
		pr, resp, err := g.gh.PullRequests.Get(ctx, g.owner, g.repo, e.Number)
		head, base = pr.GetHead().GetRepo().GetID(), pr.GetBase().GetRepo().GetID()
		return resp, err
	})
	if err != nil {
		return fmt.Errorf("look up pull request %d: %w", e.Number, err)
	}
	e.Fork, e.HeadKnown = head == 0 || head != base, true
	return nil
}

// try asks, and asks again when the service is in trouble.
func (g *GitHub) try(ctx context.Context, ask func(context.Context) (*github.Response, error)) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for n := 0; ; n++ {
		resp, err := ask(ctx)
		if err == nil {
			return nil
		}
		status := 0
		if resp != nil {
			status = resp.StatusCode
		}
		passing := status == 0 || status >= 500
		if !passing || n == len(askWaits) || g.sleep(ctx, askWaits[n]) != nil {
			return explain(status, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unanswered is a question that the API did not answer, though it might at another
// time: its rate limit is used up, it is in trouble, or it can't be reached.
type Unanswered struct{ Err error }

// Error implements error.
func (e *Unanswered) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Unanswered) Unwrap() error { return e.Err }

// explain words what the API answered, without its address.
func explain(status int, err error) error {
	var rate *github.RateLimitError
	var abuse *github.AbuseRateLimitError
	var address *url.Error
	switch {
	case errors.As(err, &rate), errors.As(err, &abuse):
		return &Unanswered{errors.New("the API's rate limit is used up")}
	case status == http.StatusUnauthorized:
		return errors.New("the API does not accept github-token (401)")
	case status == http.StatusForbidden:
		return errors.New("github-token may not ask the API for it (403); on Gitea only an administrator's may")
	case status == http.StatusNotFound:
		return errors.New("the API knows no such person, or github-token can't see this repository (404)")
	case status >= 500 || status == http.StatusTooManyRequests:
		return &Unanswered{fmt.Errorf("the API answers %d %s", status, http.StatusText(status))}
	case status >= 400:
		return fmt.Errorf("the API answers %d %s", status, http.StatusText(status))
	case errors.As(err, &address):
		return &Unanswered{fmt.Errorf("the API can't be reached: %w", address.Err)}
	case status == 0: // as after too many errors of one kind, which the library counts
		return &Unanswered{errors.New("the API did not answer")}
	}
	return errors.New("the API's answer can't be read")
}
