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

// Options are the settings of a Client.
type Options struct {
	URL        string // value of GITHUB_API_URL; if empty, the address of GitHub's API
	GraphQL    string // value of GITHUB_GRAPHQL_URL; empty if the forge has no GraphQL API
	Token      string // empty to send no token
	Repository string // in the form "owner/name"
	// Act means that act runs the job. act may provide no API, so a Steady request without an answer is
	// retried only once.
	Act       bool
	Retrier   Retrier
	Transport http.RoundTripper // if nil, http.DefaultTransport
}

// Client sends REST API requests about one repository. It is safe for concurrent use.
type Client struct {
	gh          *github.Client
	owner, name string // escaped for a URL path
	graphql     string // empty if the token must not be sent there
	act         bool
	calls       Retrier
	transport   http.RoundTripper
}

// New returns a client. It sends no request.
func New(o Options) (*Client, error) {
	owner, name, ok := strings.Cut(o.Repository, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q is not a repository of the form owner/name", shorten(o.Repository))
	}
	base, err := url.Parse(strings.TrimRight(cmp.Or(o.URL, "https://api.github.com"), "/") + "/")
	if err != nil || base.Host == "" {
		return nil, errors.New("the API address is not a URL")
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

// Retrier returns the Retrier that the client uses for its requests.
func (c *Client) Retrier() Retrier { return c.calls }

// Transport returns the client's transport, which may be nil. Nil means http.DefaultTransport.
func (c *Client) Transport() http.RoundTripper { return c.transport }

// stayOn returns a function that rejects redirects to other hosts, because the library would send the token
// there. It allows at most three redirects.
func stayOn(host string) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != host || len(via) > 3 {
			return errors.New("refused to follow a redirect")
		}
		return nil
	}
}

// sameHost reports whether an address has the scheme and the host of the API. Only then may the token be sent
// to it.
func sameHost(address string, base *url.URL) bool {
	u, err := url.Parse(address)
	return err == nil && address != "" && u.Host == base.Host && u.Scheme == base.Scheme
}

// Request is a request whose answer is JSON.
type Request struct {
	Op     string // name of the operation, for error messages
	Method string // if empty, GET
	Path   string // relative to /repos/owner/name
	Body   any    // encoded as JSON; if nil, the request has no body
	To     any    // pointer to decode the answer into; if nil, the answer is ignored
}

// Do sends a request and retries it as the policy allows. last is the number of the last page if the answer
// is a page of a list, or 0 if the answer doesn't contain that number. The error is an *Error that contains
// q.Op.
func (c *Client) Do(ctx context.Context, p Policy, q Request) (last int, err error) {
	q.Path = strings.TrimSuffix("repos/"+c.owner+"/"+c.name+"/"+q.Path, "/")
	return c.send(ctx, p, q)
}

// Get sends a Steady request to a path and decodes the answer into to.
func (c *Client) Get(ctx context.Context, op, path string, to any) error {
	_, err := c.Do(ctx, Steady, Request{Op: op, Path: path, To: to})
	return err
}

// send is like Do for a path relative to the API's root, or for a URL on the API's host.
func (c *Client) send(ctx context.Context, p Policy, q Request) (last int, err error) {
	unanswered := 0
	err = c.calls.Do(ctx, p, q.Op, func(ctx context.Context, _ *Progress) *Error {
		req, err := c.gh.NewRequest(cmp.Or(q.Method, http.MethodGet), q.Path, q.Body)
		if err != nil {
			return Permanent(err)
		}
		var body bytes.Buffer // needed because the library accepts an empty answer without an error
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

// ArtifactURL requests the signed URL of an artifact's content, without retries. Anyone who has the URL can
// read the content.
func (c *Client) ArtifactURL(ctx context.Context, id int64) (string, *Error) {
	u, resp, err := c.gh.Actions.DownloadArtifact(ctx, c.owner, c.name, id, 3)
	if err != nil {
		return "", classify(resp, err)
	}
	return u.String(), nil
}

// Login returns the login of the account that owns the token. Comments that the client writes have this
// author. Login asks the GraphQL API before the REST API, because the REST API rejects tokens of apps,
// including GITHUB_TOKEN. Gitea has no GraphQL API.
func (c *Client) Login(ctx context.Context) (string, error) {
	const op = "read the token's account"
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
