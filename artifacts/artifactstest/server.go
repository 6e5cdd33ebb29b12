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
	"encoding/json"
	"encoding/xml"
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

// Stored is an artifact of the server.
type Stored struct {
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
	Manner    Manner          // what else differs between services
	// Watch, when not nil, is told what the server has after each change. It must
	// not ask the server for anything.
	Watch func([]Stored)

	t        testing.TB
	mu       sync.Mutex // guards what follows
	stored   stored
	uploads  uploads
	faults   []*Fault
	requests []string
}

// blob is an artifact under way.
type blob struct {
	run     int64
	name    string
	mime    string // with which it is to be served
	blocks  map[string][]byte
	content []byte
	whole   bool
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := &Server{t: t, Runs: map[int64]Run{}, stored: newStored(), uploads: uploads{open: map[string]*blob{}}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
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

// Clear takes all faults back.
func (s *Server) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Put stores an artifact behind the client's back and returns its id. One of the
// same name and run stays beside it, unless the server replaces.
func (s *Server) Put(a Stored) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Replaces {
		if at := s.stored.find(a.Run, a.Name); at >= 0 {
			s.stored.remove(at)
		}
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
func (s *Server) All() []Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.stored.artifacts)
}

// Requests returns the requests so far, as "METHOD path".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.requests...)
}

// store stores an artifact and returns its id.
func (s *Server) store(a Stored) int64 {
	id := s.stored.add(a, s.Manner.SameIDs)
	s.changed()
	return id
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	where := r.Method + " " + r.URL.Path + "?" + r.URL.RawQuery
	s.requests = append(s.requests, where)
	for _, f := range s.faults {
		if f.Times > 0 && strings.Contains(where, f.Op) {
			f.Times--
			if f.After {
				s.route(httptest.NewRecorder(), r)
			}
			fail(w, f)
			return
		}
	}
	s.route(w, r)
}

func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	method, isTwirp := strings.CutPrefix(r.URL.Path, "/twirp/github.actions.results.api.v1.ArtifactService/")
	switch {
	case isTwirp:
		s.twirp(w, r, method)
	case strings.HasPrefix(r.URL.Path, "/blob/"):
		s.blob(w, r, strings.TrimPrefix(r.URL.Path, "/blob/"))
	case strings.HasPrefix(r.URL.Path, "/content/"):
		s.content(w, r, strings.TrimPrefix(r.URL.Path, "/content/"))
	case strings.HasPrefix(r.URL.Path, "/api/repos/o/r/actions/"):
		s.rest(w, r, strings.TrimPrefix(r.URL.Path, "/api/repos/o/r/actions/"))
	default:
		http.NotFound(w, r)
	}
}

// refuse is an answer that says what rule was broken.
func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"code":"x","msg":%q}`, fmt.Sprintf(format, args...))
}

// job reads the ids of run and job from a token.
func job(r *http.Request) (run int64, ok bool) {
	parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
	if len(parts) != 3 {
		return 0, false
	}
	data, _ := base64.RawURLEncoding.DecodeString(parts[1])
	_, after, _ := strings.Cut(string(data), "Actions.Results:run-")
	id, _, _ := strings.Cut(after, ":")
	run, err := strconv.ParseInt(id, 10, 64)
	return run, err == nil
}

func (s *Server) twirp(w http.ResponseWriter, r *http.Request, method string) {
	run, ok := job(r)
	var q map[string]any
	switch {
	case !ok:
		refuse(w, 401, "the token names no run")
		return
	case r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&q) != nil:
		refuse(w, 400, "want JSON")
		return
	}
	if q["workflow_run_backend_id"] != fmt.Sprintf("run-%d", run) {
		refuse(w, 403, "the token is for another run")
		return
	}
	name, _ := q["name"].(string)
	switch method {
	case "CreateArtifact":
		s.create(w, run, name, q)
	case "FinalizeArtifact":
		s.finalize(w, run, name, q)
	case "ListArtifacts":
		if !s.refusedEmpty(w, run) {
			s.list(w, run, q)
		}
	case "GetSignedArtifactURL":
		s.signed(w, run, name)
	case "DeleteArtifact":
		s.remove(w, run, name)
	default:
		refuse(w, 404, "no method %s", method)
	}
}

func (s *Server) create(w http.ResponseWriter, run int64, name string, q map[string]any) {
	at := s.stored.find(run, name)
	switch {
	case name == "" || strings.ContainsAny(name, "\":<>|*?\r\n\\/"):
		refuse(w, 400, "artifact name %q is not valid", name)
		return
	case !versionFits(q):
		refuse(w, 400, "version %v with type %v", q["version"], q["mime_type"])
		return
	case at >= 0 && !s.Replaces, s.stored.isHeld(run, name):
		refuse(w, 409, "an artifact with this name already exists on the workflow run")
		return
	case at >= 0:
		s.drop(at)
	}
	key := s.uploads.begin(run, name)
	s.reply(w, map[string]any{"ok": true, "signed_upload_url": s.URL + "/blob/" + key + "?sv=1&sig=a%2Bb%3D"})
}

// versionFits reports whether a new artifact says its type just when its version
// of the protocol has one.
func versionFits(q map[string]any) bool {
	mime, typed := q["mime_type"].(string)
	if q["version"] == 7.0 {
		return strings.Contains(mime, "/")
	}
	return q["version"] == 4.0 && !typed
}

// blob takes one part of a blob, by the rules of the storage.
func (s *Server) blob(w http.ResponseWriter, r *http.Request, key string) {
	b, q := s.uploads.open[key], r.URL.Query()
	data, err := io.ReadAll(r.Body)
	switch {
	case b == nil || err != nil || q.Get("sig") != "a+b=":
		refuse(w, 403, "the signature does not match")
	case r.Header.Get("Authorization") != "" || r.Header.Get("x-ms-version") == "":
		refuse(w, 400, "no token here, but a version")
	case q.Get("comp") == "block":
		id := q.Get("blockid")
		for other := range b.blocks {
			if len(other) != len(id) {
				refuse(w, 400, "block ids differ in length")
				return
			}
		}
		b.blocks[id] = data
		w.WriteHeader(201)
	case q.Get("comp") == "blocklist":
		// Without one the storage takes it for any bytes.
		b.mime = cmp.Or(r.Header.Get("x-ms-blob-content-type"), "application/octet-stream")
		b.assemble(w, data)
	default:
		refuse(w, 400, "want blocks and a list of them")
	}
}

func (b *blob) assemble(w http.ResponseWriter, data []byte) {
	var list struct {
		Latest []string `xml:"Latest"`
	}
	if err := xml.Unmarshal(data, &list); err != nil {
		refuse(w, 400, "no block list: %v", err)
		return
	}
	for _, id := range list.Latest {
		block, ok := b.blocks[id]
		if !ok {
			refuse(w, 400, "no block %s", id)
			return
		}
		b.content = append(b.content, block...)
	}
	b.whole = true
	w.WriteHeader(201)
}

func (s *Server) finalize(w http.ResponseWriter, run int64, name string, q map[string]any) {
	for key, b := range s.uploads.open {
		if b.run != run || b.name != name || !b.whole {
			continue
		}
		sum := sha256.Sum256(b.content)
		if q["size"] != strconv.Itoa(len(b.content)) || q["hash"] != "sha256:"+hex.EncodeToString(sum[:]) {
			refuse(w, 400, "size or hash differ")
			return
		}
		if !s.Manner.FinalTwice {
			delete(s.uploads.open, key)
		}
		id := s.store(Stored{Run: run, Name: name, Content: b.content, Type: b.mime})
		s.reply(w, map[string]any{"ok": true, "artifact_id": strconv.FormatInt(id, 10)})
		return
	}
	refuse(w, 404, "nothing of that name was uploaded")
}

func (s *Server) list(w http.ResponseWriter, run int64, q map[string]any) {
	list := []any{}
	for _, a := range s.stored.artifacts {
		if f, ok := q["name_filter"].(string); a.Run != run || ok && f != a.Name {
			continue
		}
		if id, ok := q["id_filter"].(string); ok && id != strconv.FormatInt(a.ID, 10) {
			continue
		}
		entry := map[string]any{
			"workflow_run_backend_id": fmt.Sprintf("run-%d", run), "workflow_job_run_backend_id": fmt.Sprintf("job-%d", run),
			"database_id": strconv.FormatInt(a.ID, 10), "name": a.Name, "size": strconv.Itoa(len(a.Content)),
			"created_at": a.Created.Format(time.RFC3339),
		}
		if !s.NoDigest {
			entry["digest"] = a.Digest
		}
		list = append(list, entry)
	}
	s.reply(w, map[string]any{"artifacts": list})
}

func (s *Server) signed(w http.ResponseWriter, run int64, name string) {
	at := s.stored.find(run, name)
	if at < 0 {
		refuse(w, 404, "no artifact %q", name)
		return
	}
	s.reply(w, map[string]any{"signed_url": s.contentURL(s.stored.artifacts[at].ID)})
}

func (s *Server) contentURL(id int64) string {
	return fmt.Sprintf("%s/content/%d?sig=c%%2Bd%%3D", s.URL, id)
}

func (s *Server) remove(w http.ResponseWriter, run int64, name string) {
	at := s.stored.find(run, name)
	if at < 0 {
		refuse(w, 404, "no artifact %q", name)
		return
	}
	id := s.stored.artifacts[at].ID
	s.drop(at)
	s.stored.hold(run, name, s.Manner.Held)
	s.reply(w, map[string]any{"ok": true, "artifact_id": strconv.FormatInt(id, 10)})
}
