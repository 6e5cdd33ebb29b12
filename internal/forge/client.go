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
	Calls     Calls
	Transport http.RoundTripper // nil for the machine's
}

// Client asks the REST API about one repository. It may be used by many goroutines.
type Client struct {
	gh          *github.Client
	owner, name string // as they stand in a path
	graphql     string // "": not to be asked
	act         bool
	calls       Calls
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
	c := &Client{owner: url.PathEscape(owner), name: url.PathEscape(name), act: o.Act, calls: o.Calls, transport: o.Transport}
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

// Calls returns how the client makes its requests.
func (c *Client) Calls() Calls { return c.calls }

// Transport returns what the client's requests go through; nil for that of the machine.
func (c *Client) Transport() http.RoundTripper { return c.transport }

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

// sameHost reports whether an address is at the host of the API, so that it may be
// told the token.
func sameHost(address string, base *url.URL) bool {
	u, err := url.Parse(address)
	return err == nil && address != "" && u.Host == base.Host && u.Scheme == base.Scheme
}

// Request is one request of the library's. It is told the owner and the name of the
// repository as they stand in a path.
type Request func(ctx context.Context, gh *github.Client, owner, name string) (*github.Response, error)

// Do makes a request under a policy. The error is an *Error that names op.
func (c *Client) Do(ctx context.Context, p Policy, op string, ask Request) error {
	return c.calls.Do(ctx, p, op, func(ctx context.Context, _ *Progress) *Error {
		return classify(ask(ctx, c.gh, c.owner, c.name))
	})
}

// Get makes a Steady request for a path below the repository's and reads the JSON
// of the answer into to.
func (c *Client) Get(ctx context.Context, op, path string, to any) error {
	unanswered := 0
	return c.calls.Do(ctx, Steady, op, func(ctx context.Context, _ *Progress) *Error {
		req, err := c.gh.NewRequest(http.MethodGet, "repos/"+c.owner+"/"+c.name+"/"+path, nil)
		if err != nil {
			return Failed(err)
		}
		var body bytes.Buffer // the library takes an empty answer for a good one
		resp, err := c.gh.Do(ctx, req, &body)
		if err == nil {
			err = json.Unmarshal(body.Bytes(), to)
		}
		e := classify(resp, err)
		if e != nil && e.Status == 0 {
			unanswered++
			e.Final = c.act && unanswered > 1
		}
		return e
	})
}

// ArtifactAddress asks once where the content of an artifact is. Whoever knows the
// address may read it.
func (c *Client) ArtifactAddress(ctx context.Context, id int64) (string, *Error) {
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
	login := ""
	if c.graphql != "" {
		err := c.Do(ctx, Once, "ask for the token's account", func(ctx context.Context, gh *github.Client, _, _ string) (resp *github.Response, err error) {
			login, resp, err = viewer(ctx, gh, c.graphql)
			return resp, err
		})
		if login != "" || IsPassing(err) {
			return login, err
		}
	}
	err := c.Do(ctx, Once, "ask for the token's account", func(ctx context.Context, gh *github.Client, _, _ string) (*github.Response, error) {
		user, resp, err := gh.Users.Get(ctx, "")
		login = user.GetLogin()
		return resp, err
	})
	return login, err
}

// viewer asks GraphQL who is asking.
func viewer(ctx context.Context, gh *github.Client, address string) (string, *github.Response, error) {
	req, err := gh.NewRequest(http.MethodPost, address, map[string]string{"query": "query{viewer{login}}"})
	if err != nil {
		return "", nil, err
	}
	var answer struct {
		Data struct{ Viewer struct{ Login string } }
	}
	resp, err := gh.Do(ctx, req, &answer)
	return answer.Data.Viewer.Login, resp, err
}
