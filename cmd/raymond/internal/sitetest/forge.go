package sitetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/internal/invarianttest"
)

// Forge is a fake GitHub: the results service, the REST API of artifacts, workflow runs and
// comments, and the permissions of users in the repository o/r.
type Forge struct {
	*artifactstest.Server
	API      *httptest.Server  // serves the REST API below /api
	levels   map[string]string // permissions by login
	Heads    map[int]int64     // ids of the head repositories of pull requests
	Tips     map[int]string    // the head commits of pull requests
	Comments *CommentAPI       // the comments on issues and pull requests
	// OnDispatch returns the status with which a workflow dispatch is answered; nil means 204.
	OnDispatch func(Dispatch) int
	// History records the stored checkpoints. When the test ends, the invariants of package
	// invarianttest are checked for these checkpoints.
	History *History
	Keys    *checkpoint.Keys // the keys with which checkpoints are sealed; nil if they aren't sealed

	mu         sync.Mutex // guards the fields below
	asked      []string   // requests to the REST API
	dispatches []Dispatch
}

// NewForge starts a fake GitHub, which stops when the test ends.
func NewForge(t testing.TB) *Forge {
	f := &Forge{
		Server: artifactstest.New(t), Heads: map[int]int64{}, Tips: map[int]string{}, Comments: newTalk(),
		levels: map[string]string{"ann": "write", "eve": "read", "root": "admin"},
	}
	f.History = Watch(f.Server)
	t.Cleanup(func() {
		if !t.Failed() {
			invarianttest.Want(t, f.History.Evidence(t, f.Keys))
		}
	})
	f.API = httptest.NewServer(http.HandlerFunc(f.serveAPI))
	t.Cleanup(f.API.Close)
	return f
}

// Put stores an artifact that no job has uploaded. The invariants are not checked for this Forge then.
func (f *Forge) Put(a artifactstest.Artifact) int64 {
	f.History.Disable()
	return f.Server.Put(a)
}

// serveAPI serves the REST API.
func (f *Forge) serveAPI(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.URL.Path)
	f.mu.Unlock()
	rest := strings.TrimPrefix(r.URL.Path, "/api/repos/o/r/")
	login, isPermission := strings.CutPrefix(strings.TrimSuffix(rest, "/permission"), "collaborators/")
	number, isPull := strings.CutPrefix(rest, "pulls/")
	switch {
	case isPermission && f.levels[login] != "":
		fmt.Fprintf(w, `{"permission":%q}`, f.levels[login])
	case f.serveDispatch(w, r, rest):
	case f.Comments.serve(w, r):
	case isPull:
		n, _ := strconv.Atoi(number)
		fmt.Fprintf(w, `{"head":{"ref":"topic","sha":%q,"repo":{"id":%d}},"base":{"repo":{"id":%d}}}`, f.Tips[n], f.Heads[n], artifactstest.Repository)
	default:
		f.Config.Handler.ServeHTTP(w, r)
	}
}

// Dispatch is a request to start a workflow.
type Dispatch struct {
	File   string            `json:"-"`
	Ref    string            `json:"ref"`
	Inputs map[string]string `json:"inputs"`
}

var ofDispatch = regexp.MustCompile(`^actions/workflows/([^/]+)/dispatches$`)

// serveDispatch serves a workflow dispatch and reports whether the request was one.
func (f *Forge) serveDispatch(w http.ResponseWriter, r *http.Request, path string) bool {
	m := ofDispatch.FindStringSubmatch(path)
	if m == nil || r.Method != http.MethodPost {
		return false
	}
	d, status := Dispatch{File: m[1]}, http.StatusNoContent
	if json.NewDecoder(r.Body).Decode(&d) != nil || r.Header.Get("Authorization") != "Bearer "+artifactstest.APIToken {
		w.WriteHeader(http.StatusBadRequest)
		return true
	}
	f.mu.Lock()
	f.dispatches = append(f.dispatches, d)
	f.mu.Unlock()
	if f.OnDispatch != nil {
		status = f.OnDispatch(d)
	}
	w.WriteHeader(status)
	return true
}

// Dispatches returns the well-formed requests to start a workflow that had the right token, including
// requests that OnDispatch has rejected.
func (f *Forge) Dispatches() []Dispatch {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.dispatches)
}

// AllRequests returns all requests to the REST API and to the results service.
func (f *Forge) AllRequests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(slices.Clone(f.asked), f.Server.Requests()...)
}

// Checkpoints returns the stored checkpoints, the oldest first.
func (f *Forge) Checkpoints(t testing.TB, keys *checkpoint.Keys) []StoredRun {
	t.Helper()
	var all []StoredRun
	for _, a := range f.All() {
		if !IsCheckpoint(a) {
			continue
		}
		all = append(all, ReadStored(t, a, keys))
	}
	return all
}
