package repotest

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// token is the token that the fake GitHub accepts.
const token = artifactstest.APIToken

// Forge is a fake GitHub with the repository o/r. It adds issues, pull requests and git over HTTP to the fake GitHub of
// package sitetest.
type Forge struct {
	*httptest.Server
	// Bare is the path of the bare repository.
	Bare string
	// Checks are the check runs of every commit, in the form of the REST API.
	Checks []any

	site *sitetest.Forge
	t    testing.TB
	rest http.Handler

	mu     sync.Mutex // guards the fields below
	calls  []string   // method and address of each request
	issues []*Issue
	pulls  []*Pull
	before func(*http.Request) // called with each request before it is answered; may be nil
}

// newForge starts a fake GitHub, which stops when the test ends.
func newForge(t testing.TB) *Forge {
	t.Helper()
	f := &Forge{t: t, Bare: filepath.Join(t.TempDir(), "o", "r.git"), site: sitetest.NewForge(t)}
	f.rest = f.api()
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

// AddIssue creates an issue with the given labels. If i.State is empty, the issue is open.
func (f *Forge) AddIssue(i Issue, labels ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i.Labels = []Label{}; i.State == "" {
		i.State = "open"
	}
	for _, name := range labels {
		i.Labels = append(i.Labels, Label{name})
	}
	f.issues = append(f.issues, &i)
}

// Issue returns the current state of an issue.
func (f *Forge) Issue(number int) Issue {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.issue(strconv.Itoa(number))
}

// comments returns the comments on an issue that jobs have written.
func (f *Forge) comments(n int) []sitetest.Comment {
	return f.site.Comments.By(n, sitetest.JobsAccount)
}

// Requests returns the method and address of each request so far that contains the text. Requests to the results service
// are not included.
func (f *Forge) Requests(text string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.calls), func(r string) bool { return !strings.Contains(r, text) })
}

// serve records a request and passes it to its handler.
func (f *Forge) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.calls = append(f.calls, r.Method+" "+r.URL.String())
	before := f.before
	f.mu.Unlock()
	if before != nil {
		before(r)
	}
	_, given, isBasic := r.BasicAuth()
	if !isBasic {
		given = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	switch {
	case given != token:
		w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasPrefix(r.URL.Path, "/o/r.git/"):
		f.git(w, r)
	default:
		f.rest.ServeHTTP(w, r)
	}
}

// cloneFrom replaces the repository with a bare clone of another one.
func (f *Forge) cloneFrom(repo string) {
	f.t.Helper()
	sitetest.Git(f.t, "", "clone", "--quiet", "--bare", repo, f.Bare)
}

// git serves the repository over git's HTTP protocol.
func (f *Forge) git(w http.ResponseWriter, r *http.Request) {
	h := cgi.Handler{
		Path: filepath.Join(sitetest.Git(f.t, "", "--exec-path"), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Dir(filepath.Dir(f.Bare)), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=job",
			"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		},
	}
	h.ServeHTTP(w, r)
}

// Git runs git in the repository and returns its output.
func (f *Forge) Git(args ...string) string {
	f.t.Helper()
	return sitetest.Git(f.t, f.Bare, args...)
}

// commit returns the commit of a branch, or "" if the branch doesn't exist.
func (f *Forge) commit(branch string) string {
	return f.Git("for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
}
