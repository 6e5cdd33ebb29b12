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
	URL        string // GITHUB_API_URL; "" for GitHub's own
	GraphQL    string // GITHUB_GRAPHQL_URL; "" without GraphQL
	Token      string // "" for none
	Repository string // "owner/name"
	// Act means that act runs the job, possibly without an API: a Steady request that gets no answer is
	// retried only once.
	Act       bool
	Retrier   Retrier
	Transport http.RoundTripper // nil for http.DefaultTransport
}

// Client makes REST API requests about one repository. It is safe for concurrent use.
type Client struct {
	gh          *github.Client
	owner, name string // escaped for a URL path
	graphql     string // "" where the token must not be sent
	act         bool
	calls       Retrier
	transport   http.RoundTripper
}

// New returns a client. It makes no request.
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

// Retrier returns the Retrier of the client's requests.
func (c *Client) Retrier() Retrier { return c.calls }

// Transport returns the client's transport; nil for http.DefaultTransport.
func (c *Client) Transport() http.RoundTripper { return c.transport }

// stayOn refuses redirects to other hosts, because the library would send the token there.
func stayOn(host string) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != host || len(via) > 3 {
			return errors.New("refused to follow a redirect")
		}
		return nil
	}
}

// sameHost reports whether an address has the scheme and host of the API, so that it may receive the
// token.
func sameHost(address string, base *url.URL) bool {
	u, err := url.Parse(address)
	return err == nil && address != "" && u.Host == base.Host && u.Scheme == base.Scheme
}

// Request is a request with a JSON answer.
type Request struct {
	Op     string // for error messages
	Method string // "" for GET
	Path   string // relative to repos/owner/name
	Body   any    // nil for no body
	To     any    // pointer that the answer is decoded into; nil to ignore it
}

// Do makes a request under a policy. last is the page number of the last page of a list; 0 if the
// answer doesn't name one. The error is an *Error that names q.Op.
func (c *Client) Do(ctx context.Context, p Policy, q Request) (last int, err error) {
	q.Path = strings.TrimSuffix("repos/"+c.owner+"/"+c.name+"/"+q.Path, "/")
	return c.send(ctx, p, q)
}

// Get makes a Steady request and decodes the answer into to.
func (c *Client) Get(ctx context.Context, op, path string, to any) error {
	_, err := c.Do(ctx, Steady, Request{Op: op, Path: path, To: to})
	return err
}

// send is Do for a path relative to the API's root, or for a URL at its host.
func (c *Client) send(ctx context.Context, p Policy, q Request) (last int, err error) {
	unanswered := 0
	err = c.calls.Do(ctx, p, q.Op, func(ctx context.Context, _ *Progress) *Error {
		req, err := c.gh.NewRequest(cmp.Or(q.Method, http.MethodGet), q.Path, q.Body)
		if err != nil {
			return Permanent(err)
		}
		var body bytes.Buffer // the library accepts an empty answer without an error
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

// ArtifactURL makes one request for the signed URL of an artifact's content. Anyone who has the URL can
// read the content.
func (c *Client) ArtifactURL(ctx context.Context, id int64) (string, *Error) {
	u, resp, err := c.gh.Actions.DownloadArtifact(ctx, c.owner, c.name, id, 3)
	if err != nil {
		return "", classify(resp, err)
	}
	return u.String(), nil
}

// Login returns the login of the account that owns the token, which is the author of the client's
// comments. It tries GraphQL first, because the REST endpoint refuses tokens of apps, including
// GITHUB_TOKEN. Gitea has no GraphQL.
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
