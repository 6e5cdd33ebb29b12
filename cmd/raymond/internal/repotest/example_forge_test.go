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

// token is what whoever asks the forge for anything needs.
const token = artifactstest.APIToken

// Forge is the stand-in for GitHub: that of package sitetest, with the issues, the pull requests and, over HTTP, the git of
// the repository o/r.
type Forge struct {
	*httptest.Server
	// Bare is the folder of the repository, without a work tree.
	Bare string
	// Checks are the check runs of any commit, as the API tells them.
	Checks []any

	site *sitetest.Forge
	t    testing.TB
	rest http.Handler

	mu     sync.Mutex // guards what follows
	calls  []string   // methods and addresses of requests
	issues []*Issue
	pulls  []*Pull
	before func(*http.Request) // is told each request before it is answered; nil for nobody
}

// newForge starts a forge that ends with the test.
func newForge(t testing.TB) *Forge {
	t.Helper()
	f := &Forge{t: t, Bare: filepath.Join(t.TempDir(), "o", "r.git"), site: sitetest.NewForge(t)}
	f.rest = f.api()
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

// AddIssue makes an issue, open unless it says otherwise, with some labels.
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

// Issue returns an issue as it is now.
func (f *Forge) Issue(number int) Issue {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.issue(strconv.Itoa(number))
}

// said are the comments that jobs made on an issue.
func (f *Forge) said(number int) []sitetest.Said { return f.site.Talk.By(number, sitetest.JobsAccount) }

// Requests are those so far that have a text in their method and address, those of the results service aside.
func (f *Forge) Requests(text string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.calls), func(r string) bool { return !strings.Contains(r, text) })
}

// serve notes a request and hands it on.
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

// take makes the forge's repository a copy of one.
func (f *Forge) take(repo string) {
	f.t.Helper()
	sitetest.Git(f.t, "", "clone", "--quiet", "--bare", repo, f.Bare)
}

// git serves the repository.
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

// Git runs git in the forge's repository and returns what it prints.
func (f *Forge) Git(args ...string) string {
	f.t.Helper()
	return sitetest.Git(f.t, f.Bare, args...)
}

// commit is what a branch of the forge is at; "" when there is no such branch.
func (f *Forge) commit(branch string) string {
	return f.Git("for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
}
