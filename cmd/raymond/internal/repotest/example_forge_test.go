package repotest

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// The repository of every stage, and its id.
const (
	Repository   = "acme/consumer"
	RepositoryID = artifactstest.Repository
)

// Forge is the stand-in for GitHub: the REST API of one repository, its git over
// HTTP, and the results service. Whoever asks for anything needs the token. Who may do what, comments,
// runs and artifacts are those of package sitetest.
type Forge struct {
	*httptest.Server
	// Token is that of every job.
	Token string
	// Bare is the folder of the repository, without a work tree.
	Bare string
	// Checks are the check runs of any commit, as the API tells them.
	Checks []any

	site *sitetest.Forge
	t    testing.TB
	rest http.Handler

	mu     sync.Mutex // guards what follows
	calls  []Request
	issues []*Issue
	pulls  []*Pull
	before func(Request)
}

// Request is one that the forge was sent.
type Request struct{ Method, Path, Query string } // the path is relative to the repository, as in "/issues/7/comments"

// String is the request in one line.
func (r Request) String() string {
	if r.Query != "" {
		return r.Method + " " + r.Path + "?" + r.Query
	}
	return r.Method + " " + r.Path
}

// newForge starts a forge that ends with the test.
func newForge(t testing.TB) *Forge {
	t.Helper()
	f := &Forge{t: t, Token: "ghs_" + rand.Text(), Bare: filepath.Join(t.TempDir(), "acme", "consumer.git"), site: sitetest.NewForge(t)}
	f.rest = f.api()
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

// AddIssue makes an issue, open unless it says otherwise, with some labels.
func (f *Forge) AddIssue(i Issue, labels ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i.State, i.Labels = cmp.Or(i.State, "open"), []Label{}
	for _, name := range labels {
		i.Labels = append(i.Labels, Label{name})
	}
	f.issues = append(f.issues, &i)
}

// Issue returns an issue as it is now.
func (f *Forge) Issue(number int) Issue {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.issue(strconv.Itoa(number))
}

// said are the comments that jobs made on an issue.
func (f *Forge) said(number int) []sitetest.Said { return f.site.Talk.By(number, sitetest.JobsAccount) }

// Pulls are the pull requests as they are now.
func (f *Forge) Pulls() []Pull {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Pull
	for _, p := range f.pulls {
		all = append(all, *p)
	}
	return all
}

// Requests are those so far whose line has a text in it, those of the results
// service aside.
func (f *Forge) Requests(text string) []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.calls), func(r Request) bool { return !strings.Contains(r.String(), text) })
}

// Before has a function called before each request is answered, which waits for it;
// when it panics with http.ErrAbortHandler there is no answer. nil ends that.
func (f *Forge) Before(tell func(Request)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = tell
}

// serve notes a request and hands it on.
func (f *Forge) serve(w http.ResponseWriter, r *http.Request) {
	path, isAPI := strings.CutPrefix(r.URL.Path, "/api/repos/"+Repository)
	q := Request{Method: r.Method, Path: path, Query: r.URL.RawQuery}
	f.mu.Lock()
	f.calls = append(f.calls, q)
	tell := f.before
	f.mu.Unlock()
	if tell != nil {
		tell(q)
	}
	_, token, isBasic := r.BasicAuth()
	if !isBasic {
		token = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	switch {
	case token != f.Token && isAPI:
		send(w, http.StatusUnauthorized, object{"message": "Bad credentials"})
	case token != f.Token:
		w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
		w.WriteHeader(http.StatusUnauthorized)
	case isAPI:
		r.URL.Path, r.URL.RawPath = cmp.Or(path, "/"), ""
		f.rest.ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, "/"+Repository+".git/"):
		f.git(w, r)
	default: // who is asking
		f.ask(w, r, "/api/"+filepath.Base(r.URL.Path))
	}
}

// ask hands a request on to the site.
func (f *Forge) ask(w http.ResponseWriter, r *http.Request, path string) {
	r.URL.Path = path
	r.Header.Set("Authorization", "Bearer "+artifactstest.APIToken)
	f.site.API.Config.Handler.ServeHTTP(w, r)
}
