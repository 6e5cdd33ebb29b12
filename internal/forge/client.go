package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v60/github"
)

// Options say how the API is reached.
type Options struct {
	URL        string // GITHUB_API_URL; "" for GitHub's own
	GraphQL    string // GITHUB_GRAPHQL_URL; "" where there is none
	Token      string // "" for none
	Repository string // "owner/name"
	// Act says that act runs the job, where nobody may be there to answer: a request
	// of Get that gets no answer is made once more, and no more.
	Act       bool
	Retrier   Retrier
	Transport http.RoundTripper // nil for the machine's
}

// Client asks the REST API about one repository. It may be used by many goroutines.
type Client struct {
	gh          *github.Client
	owner, name string // as they stand in a path
	graphql     string // "": not to be asked
	act         bool
	calls       Retrier
	transport   http.RoundTripper
}

// New returns a client. It asks nobody anything.
func New(o Options) (*Client, error) {
	owner, name, ok := strings.Cut(o.Repository, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q is no repository of the form owner/name", shorten(o.Repository))
	}
	base, err := url.Parse(strings.TrimRight(cmp.Or(o.URL, "https://api.github.com"), "/") + "/")
	if err != nil || base.Host == "" {
		return nil, errors.New("the address of the API is no URL")
	}
	c := &Client{owner: url.PathEscape(owner), name: url.PathEscape(name), act: o.Act, calls: o.Retrier, transport: o.Transport}
	c.gh = github.NewClient(&http.Client{Transport: o.Transport, CheckRedirect: stayOn(base.Host)})
	if o.Token != "" {
		c.gh = c.gh.WithAuthToken(o.Token)
	}
	c.gh.BaseURL = base
	if sameHost(o.GraphQL, base) {
		c.graphql = o.GraphQL
	}
	return c, nil
}

// Retrier returns how the client makes its requests.
func (c *Client) Retrier() Retrier { return c.calls }

// Transport returns what the client's requests go through; nil for that of the machine.
func (c *Client) Transport() http.RoundTripper { return c.transport }

// stayOn refuses redirects to other hosts, to which the library would send the token.
func stayOn(host string) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != host || len(via) > 3 {
			return errors.New("redirected to another place")
		}
		return nil
	}
}

// sameHost reports whether an address is at the host of the API, so that it may be
// told the token.
func sameHost(address string, base *url.URL) bool {
	u, err := url.Parse(address)
	return err == nil && address != "" && u.Host == base.Host && u.Scheme == base.Scheme
}

// Request is a request for JSON.
type Request struct {
	Op     string // for errors
	Method string // "" for GET
	Path   string // below the repository's
	Body   any    // nil for none
	To     any    // what the answer is read into; nil for nothing
}

// Do makes a request under a policy. last is the number of a list's last page, 0 where the answer tells of none. The error is
// an *Error that names what was asked for.
func (c *Client) Do(ctx context.Context, p Policy, q Request) (last int, err error) {
	q.Path = strings.TrimSuffix("repos/"+c.owner+"/"+c.name+"/"+q.Path, "/")
	return c.send(ctx, p, q)
}

// Get makes a Steady request and reads the answer into to.
func (c *Client) Get(ctx context.Context, op, path string, to any) error {
	_, err := c.Do(ctx, Steady, Request{Op: op, Path: path, To: to})
	return err
}

// send is Do for a path of the API's, or an address at its host.
func (c *Client) send(ctx context.Context, p Policy, q Request) (last int, err error) {
	unanswered := 0
	err = c.calls.Do(ctx, p, q.Op, func(ctx context.Context, _ *Progress) *Error {
		req, err := c.gh.NewRequest(cmp.Or(q.Method, http.MethodGet), q.Path, q.Body)
		if err != nil {
			return Permanent(err)
		}
		var body bytes.Buffer // the library takes an empty answer for a good one
		resp, err := c.gh.Do(ctx, req, &body)
		if err == nil && q.To != nil {
			err = json.Unmarshal(body.Bytes(), q.To)
		}
		e := classify(resp, err)
		switch {
		case e == nil:
			last = resp.LastPage
		case e.Status == 0 && p == Steady:
			unanswered++
			e.Final = c.act && unanswered > 1
		}
		return e
	})
	return last, err
}

// ArtifactURL asks once where the content of an artifact is. Whoever knows the
// address may read it.
func (c *Client) ArtifactURL(ctx context.Context, id int64) (string, *Error) {
	u, resp, err := c.gh.Actions.DownloadArtifact(ctx, c.owner, c.name, id, 3)
	if err != nil {
		return "", classify(resp, err)
	}
	return u.String(), nil
}

// Login returns the login of the token's own account, the author of what it writes.
// The token of an app can't ask REST for it, that of the job on GitHub is one, and
// Gitea has no GraphQL.
func (c *Client) Login(ctx context.Context) (string, error) {
	const op = "ask for the token's account"
	if c.graphql != "" {
		var answer struct {
			Data struct{ Viewer struct{ Login string } }
		}
		query := map[string]string{"query": "query{viewer{login}}"}
		_, err := c.send(ctx, Once, Request{Op: op, Method: http.MethodPost, Path: c.graphql, Body: query, To: &answer})
		if login := answer.Data.Viewer.Login; login != "" || IsTemporary(err) {
			return login, err
		}
	}
	var user struct{ Login string }
	_, err := c.send(ctx, Once, Request{Op: op, Path: "user", To: &user})
	return user.Login, err
}
