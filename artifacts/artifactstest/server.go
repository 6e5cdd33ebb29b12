// Package artifactstest is a fake of GitHub's artifact services: the results service of a job, its storage,
// and the REST API for artifacts. It enforces the rules of the real services. Tests can make requests fail.
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

// Repository is the id of the repository in which all workflow runs of the server run.
const Repository = 4711

// Run is a workflow run that the server knows.
type Run struct {
	ID             int64
	Event          string
	Status         string
	Path           string
	HeadBranch     string
	HeadRepository int64
}

// Job is a job of a workflow run.
type Job struct {
	Name    string `json:"name"`
	Runner  string `json:"runner_name"`
	Attempt int    `json:"run_attempt"`
	Status  string `json:"status"`
	Started string `json:"started_at,omitempty"`
}

// Artifact is an artifact that the server stores.
type Artifact struct {
	ID      int64
	Run     int64
	Name    string
	Content []byte
	Type    string // media type of the content; if empty, a zip archive
	Digest  string
	Created time.Time
	Expired bool
}

// Server is a fake of the services. Its fields may be changed only between requests. ChangeRun may be
// called at any time.
type Server struct {
	*httptest.Server
	CamelCase bool // use camel case for field names, like act and Gitea
	NoDigest  bool // report no digests, like act and Gitea
	Replaces  bool // an upload replaces an artifact with the same name, like in act and Gitea
	Runs      map[int64]Run
	Jobs      map[int64][]Job // by workflow run; the API denies requests for jobs of other workflow runs
	Behavior  Behavior        // other differences between services
	// OnChange is called with all artifacts after each change. It may be nil. It must not send requests to
	// the server.
	OnChange func([]Artifact)

	mu        sync.Mutex // guards the fields below
	artifacts []Artifact
	last      int64                 // the last id that was assigned
	ids       map[artifactKey]int64 // last id of the artifacts with a name
	refusals  map[artifactKey]int   // how many more times the name of a deleted artifact is rejected
	blobs     map[string]*blob      // uploads in progress
	blobCount int                   // number of blobs so far
	faults    []*Fault
	requests  []string
}

// artifactKey is the name of an artifact in a workflow run.
type artifactKey struct {
	run  int64
	name string
}

func (a Artifact) key() artifactKey { return artifactKey{a.Run, a.Name} }

// Behavior describes differences between the services. The zero value is GitHub's behavior.
type Behavior struct {
	SameIDs    bool // an artifact keeps its id if it is stored again under its name
	EmptyIs404 bool // an empty list is answered with status 404
	EmptyDrops bool // instead of answering with an empty list, the server drops the connection
	// GiteaREST makes the REST API behave like Gitea's. It reports no digests and no repository ids. Lists
	// are sorted oldest first, in pages of 50. Paths of workflow files are base names, and the branch of a
	// fork's run is missing.
	GiteaREST bool
	// RefusalsAfterDelete is how many times the name of an artifact is rejected after its deletion.
	RefusalsAfterDelete int
	// FinalizesTwice means that a repeated FinalizeArtifact creates a duplicate instead of failing.
	FinalizesTwice bool
}

// AsGitea makes the server behave like Gitea 1.26.
func (s *Server) AsGitea() {
	s.CamelCase, s.NoDigest, s.Replaces = true, true, true
	s.Behavior = Behavior{SameIDs: true, EmptyIs404: true, GiteaREST: true}
}

// AsAct makes the server behave like act.
func (s *Server) AsAct() {
	s.CamelCase, s.NoDigest, s.Replaces = true, true, true
	s.Behavior = Behavior{SameIDs: true, EmptyDrops: true}
}

// New starts a server and closes it at the end of the test.
func New(t testing.TB) *Server {
	s := &Server{Runs: map[int64]Run{}, ids: map[artifactKey]int64{}, refusals: map[artifactKey]int{}, blobs: map[string]*blob{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/twirp/github.actions.results.api.v1.ArtifactService/{method}", s.twirp)
	mux.HandleFunc("/blob/{key}", s.putBlob)
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

// Token returns the token of the only job of a workflow run.
func Token(run int64) string { return JobToken(run, strconv.FormatInt(run, 10)) }

// JobToken returns the token of a job in a workflow run with several jobs.
func JobToken(run int64, job string) string {
	claims := fmt.Sprintf(`{"scp":"Actions.ExampleScope Actions.Results:run-%d:job-%s"}`, run, job)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".x"
}

// APIToken is the token that the REST API accepts.
const APIToken = "api-token"

// Fault makes matching requests fail.
type Fault struct {
	Op     string // text that a matching request contains, for example "CreateArtifact" or "comp=block"
	Times  int    // number of requests that fail
	Status int    // status of the answer; 0 drops the connection
	Body   string
	Header map[string]string
	// After means that the request is carried out, and only its answer is replaced.
	After bool
}

// Fail adds a fault, which applies to later requests.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Clear removes all faults.
func (s *Server) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Put stores an artifact without a request and returns its id. If Replaces is set, an artifact with the
// same name in the same workflow run is removed.
func (s *Server) Put(a Artifact) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.find(a.key()); at >= 0 && s.Replaces {
		s.artifacts = slices.Delete(s.artifacts, at, at+1)
	}
	return s.store(a)
}

// ChangeRun changes a workflow run.
func (s *Server) ChangeRun(id int64, change func(*Run)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.Runs[id]
	change(&run)
	s.Runs[id] = run
}

// All returns the artifacts of the server, oldest first.
func (s *Server) All() []Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.artifacts)
}

// Requests returns all requests so far, as "METHOD path?query".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// serve handles a request. It handles one request at a time, and lets it fail if a fault matches.
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

// find returns the index of the newest artifact with a key, or -1.
func (s *Server) find(at artifactKey) int {
	for i, a := range slices.Backward(s.artifacts) {
		if a.key() == at {
			return i
		}
	}
	return -1
}

// store adds an artifact and returns its id.
func (s *Server) store(a Artifact) int64 {
	if a.ID = s.ids[a.key()]; a.ID == 0 || !s.Behavior.SameIDs {
		s.last++
		a.ID = s.last
	}
	s.ids[a.key()] = a.ID
	if a.Created.IsZero() {
		a.Created = time.Now().UTC()
	}
	a.Digest = digestOf(a.Content)
	s.artifacts = append(s.artifacts, a)
	s.changed()
	return a.ID
}

// drop removes the artifact at an index.
func (s *Server) drop(at int) {
	s.artifacts = slices.Delete(s.artifacts, at, at+1)
	s.changed()
}

// changed calls OnChange.
func (s *Server) changed() {
	if s.OnChange != nil {
		s.OnChange(slices.Clone(s.artifacts))
	}
}

// digestOf returns "sha256:" and the hash of a content.
func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// contentURL returns the signed URL of an artifact's content.
func (s *Server) contentURL(id int64) string {
	return fmt.Sprintf("%s/content/%d?sig=c%%2Bd%%3D", s.URL, id)
}

// content answers with the content of an artifact.
func (s *Server) content(w http.ResponseWriter, r *http.Request) {
	at := slices.IndexFunc(s.artifacts, func(a Artifact) bool { return strconv.FormatInt(a.ID, 10) == r.PathValue("id") })
	switch {
	case r.Header.Get("Authorization") != "" || r.URL.Query().Get("sig") != "c+d=":
		refuse(w, 403, "expected the signature and no token")
	case at < 0:
		refuse(w, 404, "gone")
	default:
		w.Header().Set("Content-Type", cmp.Or(s.artifacts[at].Type, "application/zip"))
		w.Write(s.artifacts[at].Content)
	}
}
