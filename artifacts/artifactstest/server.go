// Package artifactstest is a strict stand-in for the services that keep
// artifacts: the results service of a job, the storage behind it, and the part of
// the REST API that reads them. It holds a client to the rules that GitHub's own
// service enforces, and can be made to fail.
package artifactstest

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Repository is the id of the repository whose runs the server has.
const Repository = 4711

// Run is a workflow run of the server.
type Run struct {
	ID             int64
	Event          string
	Status         string
	Path           string
	HeadBranch     string
	HeadRepository int64
}

// Job is a job of a run of the server.
type Job struct {
	Name    string `json:"name"`
	Runner  string `json:"runner_name"`
	Attempt int    `json:"run_attempt"`
	Status  string `json:"status"`
	Started string `json:"started_at,omitempty"`
}

// Artifact is an artifact of the server.
type Artifact struct {
	ID      int64
	Run     int64
	Name    string
	Content []byte
	Type    string // of the content; "" for a zip archive
	Digest  string
	Created time.Time
	Expired bool
}

// Server is the stand-in. Its fields may be changed between requests only; ChangeRun
// may be called at any time.
type Server struct {
	*httptest.Server
	CamelCase bool // answer as act and Gitea do
	NoDigest  bool // as they do
	Replaces  bool // a second artifact of one name replaces the first, as there
	Runs      map[int64]Run
	Jobs      map[int64][]Job // by run; nil: the API doesn't tell
	Behavior  Behavior        // what else differs between services
	// OnChange, when not nil, is told what the server has after each change. It must
	// not ask the server for anything.
	OnChange func([]Artifact)

	mu       sync.Mutex // guards what follows
	has      []Artifact
	last     int64            // id
	ids      map[place]int64  // that names had before
	held     map[place]int    // how often a name is still refused after its delete
	blobs    map[string]*blob // under way
	begun    int              // of them
	faults   []*Fault
	requests []string
}

// place is a name in a run.
type place struct {
	run  int64
	name string
}

func (a Artifact) place() place { return place{a.Run, a.Name} }

// Behavior is what differs between the services. The zero value is GitHub's.
type Behavior struct {
	SameIDs    bool // what is stored again under its name keeps its id
	EmptyIs404 bool // a list of nothing is not found
	EmptyDrops bool // a list of nothing ends the connection
	// GiteaREST is the REST API of Gitea: it leaves out digests and the ids of
	// repositories, tells the oldest first in pages of 50, the bare names of workflow
	// files, and no branch of a fork's run.
	GiteaREST bool
	// RefusalsAfterDelete is how often a name is refused after its delete.
	RefusalsAfterDelete int
	// FinalizesTwice makes a second artifact of what is finished a second time, instead
	// of finding nothing.
	FinalizesTwice bool
}

// AsGitea makes the server behave as Gitea 1.26 does.
func (s *Server) AsGitea() {
	s.CamelCase, s.NoDigest, s.Replaces = true, true, true
	s.Behavior = Behavior{SameIDs: true, EmptyIs404: true, GiteaREST: true}
}

// AsAct makes the server behave as act does.
func (s *Server) AsAct() {
	s.CamelCase, s.NoDigest, s.Replaces = true, true, true
	s.Behavior = Behavior{SameIDs: true, EmptyDrops: true}
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := &Server{Runs: map[int64]Run{}, ids: map[place]int64{}, held: map[place]int{}, blobs: map[string]*blob{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/twirp/github.actions.results.api.v1.ArtifactService/{method}", s.twirp)
	mux.HandleFunc("/blob/{key}", s.takeBlob)
	mux.HandleFunc("/content/{id}", s.content)
	for path, answer := range map[string]http.HandlerFunc{
		"artifacts": s.restList, "artifacts/{id}/zip": s.restZip, "runs/{run}": s.restRun, "runs/{run}/artifacts": s.restList, "runs/{run}/jobs": s.restJobs,
	} {
		mux.HandleFunc("/api/repos/o/r/actions/"+path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+APIToken {
				w.WriteHeader(401)
				return
			}
			answer(w, r)
		})
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(mux, w, r) }))
	t.Cleanup(s.Close)
	return s
}

// Token is the token of the job of a run that has no other.
func Token(run int64) string { return JobToken(run, strconv.FormatInt(run, 10)) }

// JobToken is the token of one of several jobs of a run.
func JobToken(run int64, job string) string {
	claims := fmt.Sprintf(`{"scp":"Actions.ExampleScope Actions.Results:run-%d:job-%s"}`, run, job)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".x"
}

// APIToken is the token that the REST API takes.
const APIToken = "api-token"

// Fault makes requests fail.
type Fault struct {
	Op     string // part of the path, as in "CreateArtifact" or "comp=block"
	Times  int    // how many requests
	Status int    // 0 drops the connection
	Body   string
	Header map[string]string
	// After carries the request out, and spoils the answer alone.
	After bool
}

// Fail adds a fault.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Clear takes all faults back.
func (s *Server) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Put stores an artifact behind the client's back and returns its id. One of the
// same name and run stays beside it, unless the server replaces.
func (s *Server) Put(a Artifact) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.find(a.place()); at >= 0 && s.Replaces {
		s.has = slices.Delete(s.has, at, at+1)
	}
	return s.store(a)
}

// ChangeRun changes what the API tells of a workflow run.
func (s *Server) ChangeRun(id int64, change func(*Run)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.Runs[id]
	change(&run)
	s.Runs[id] = run
}

// All returns what the server has, in order of age.
func (s *Server) All() []Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.has)
}

// Requests returns the requests so far, as "METHOD path".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// serve answers one request at a time.
func (s *Server) serve(mux http.Handler, w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	where := r.Method + " " + r.URL.Path + "?" + r.URL.RawQuery
	s.requests = append(s.requests, where)
	at := slices.IndexFunc(s.faults, func(f *Fault) bool { return f.Times > 0 && strings.Contains(where, f.Op) })
	if at < 0 {
		mux.ServeHTTP(w, r)
		return
	}
	f := s.faults[at]
	f.Times--
	if f.After {
		mux.ServeHTTP(httptest.NewRecorder(), r)
	}
	if f.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	for k, v := range f.Header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(f.Status)
	io.WriteString(w, f.Body)
}

// find returns the index of the newest artifact at a place, or -1.
func (s *Server) find(at place) int {
	for i, a := range slices.Backward(s.has) {
		if a.place() == at {
			return i
		}
	}
	return -1
}

// store stores an artifact and returns its id.
func (s *Server) store(a Artifact) int64 {
	if a.ID = s.ids[a.place()]; a.ID == 0 || !s.Behavior.SameIDs {
		s.last++
		a.ID = s.last
	}
	s.ids[a.place()] = a.ID
	if a.Created.IsZero() {
		a.Created = time.Now().UTC()
	}
	a.Digest = digestOf(a.Content)
	s.has = append(s.has, a)
	s.changed()
	return a.ID
}

// drop removes an artifact.
func (s *Server) drop(at int) {
	s.has = slices.Delete(s.has, at, at+1)
	s.changed()
}

func (s *Server) changed() {
	if s.OnChange != nil {
		s.OnChange(slices.Clone(s.has))
	}
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (s *Server) contentURL(id int64) string {
	return fmt.Sprintf("%s/content/%d?sig=c%%2Bd%%3D", s.URL, id)
}

// content answers with what an artifact holds.
func (s *Server) content(w http.ResponseWriter, r *http.Request) {
	at := slices.IndexFunc(s.has, func(a Artifact) bool { return strconv.FormatInt(a.ID, 10) == r.PathValue("id") })
	switch {
	case r.Header.Get("Authorization") != "" || r.URL.Query().Get("sig") != "c+d=":
		refuse(w, 403, "no token here, but the signature")
	case at < 0:
		refuse(w, 404, "gone")
	default:
		w.Header().Set("Content-Type", cmp.Or(s.has[at].Type, "application/zip"))
		w.Write(s.has[at].Content)
	}
}
