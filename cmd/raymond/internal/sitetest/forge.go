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

// Forge is the stand-in for everything that a job asks: the results service, the
// REST API's artifacts and runs, and who may do what in the repository o/r.
type Forge struct {
	*artifactstest.Server
	API    *httptest.Server  // its REST API, below /api
	levels map[string]string // permissions by login
	Heads  map[int]int64     // repositories that pull requests come from
	Tips   map[int]string    // the commits that their branches are at
	Talk   *Talk             // the comments on issues and pull requests
	// OnDispatch says with which status the start of a workflow is answered; nil for 204.
	OnDispatch func(Dispatch) int
	// History is of the checkpoints. When the test ends the invariants of package
	// invarianttest hold for them.
	History *History
	Keys    *checkpoint.Keys // that they are sealed with; nil: they are not

	mu         sync.Mutex // guards what follows
	asked      []string   // what the API was asked
	dispatches []Dispatch
}

// NewForge starts the stand-in.
func NewForge(t testing.TB) *Forge {
	f := &Forge{
		Server: artifactstest.New(t), Heads: map[int]int64{}, Tips: map[int]string{}, Talk: newTalk(),
		levels: map[string]string{"ann": "write", "eve": "read", "root": "admin"},
	}
	f.History = Watch(f.Server)
	t.Cleanup(func() {
		if !t.Failed() {
			invarianttest.Want(t, f.History.Left(t, f.Keys))
		}
	})
	f.API = httptest.NewServer(http.HandlerFunc(f.answer))
	t.Cleanup(f.API.Close)
	return f
}

// Put stores an artifact behind everybody's back.
func (f *Forge) Put(a artifactstest.Artifact) int64 {
	f.History.Forge()
	return f.Server.Put(a)
}

// answer is the REST API.
func (f *Forge) answer(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.URL.Path)
	f.mu.Unlock()
	rest := strings.TrimPrefix(r.URL.Path, "/api/repos/o/r/")
	login, isPermission := strings.CutPrefix(strings.TrimSuffix(rest, "/permission"), "collaborators/")
	number, isPull := strings.CutPrefix(rest, "pulls/")
	switch {
	case isPermission && f.levels[login] != "":
		fmt.Fprintf(w, `{"permission":%q}`, f.levels[login])
	case f.dispatched(w, r, rest):
	case f.Talk.answers(w, r):
	case isPull:
		n, _ := strconv.Atoi(number)
		fmt.Fprintf(w, `{"head":{"ref":"topic","sha":%q,"repo":{"id":%d}},"base":{"repo":{"id":%d}}}`, f.Tips[n], f.Heads[n], artifactstest.Repository)
	default:
		f.Config.Handler.ServeHTTP(w, r)
	}
}

// Dispatch is the start of a workflow.
type Dispatch struct {
	File   string            `json:"-"`
	Ref    string            `json:"ref"`
	Inputs map[string]string `json:"inputs"`
}

var ofDispatch = regexp.MustCompile(`^actions/workflows/([^/]+)/dispatches$`)

// dispatched answers a request that is the start of a workflow.
func (f *Forge) dispatched(w http.ResponseWriter, r *http.Request, path string) bool {
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

// Dispatches are the starts of workflows that were asked for, also in vain.
func (f *Forge) Dispatches() []Dispatch {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.dispatches)
}

// Questions are all requests that anybody was sent.
func (f *Forge) Questions() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(slices.Clone(f.asked), f.Requests()...)
}

// Checkpoints are what is stored under the names of keys, the oldest first.
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
