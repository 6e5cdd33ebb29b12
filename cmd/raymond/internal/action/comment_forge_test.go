//go:build linux

package action_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
)

// said is a comment as the forge keeps it.
type said struct {
	ID     int64  `json:"id"`
	Body   string `json:"body"`
	Author string `json:"-"`
	Number int    `json:"-"`
	Edits  int    `json:"-"`
}

// MarshalJSON has the form of the REST API.
func (s said) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"id": s.ID, "body": s.Body, "user": map[string]any{"login": s.Author, "type": "Bot"}})
}

// jobsAccount is whom the token of a job belongs to.
const jobsAccount = "github-actions[bot]"

// talk stands in for the comments of the repository o/r.
type talk struct {
	mu    sync.Mutex // guards all below
	all   []said
	last  int64
	asked []string // methods and paths, as in "POST issues/7/comments"
	gitea bool     // there is no GraphQL, and no pages

	// fault answers a request instead; it returns whether it has.
	fault func(w http.ResponseWriter, asked string) bool
	// lost decides whether the answer to what was carried out gets lost.
	lost func(asked string) bool
	// hangs decides whether a request gets no answer, and is not carried out.
	hangs func(asked string) bool
}

// set changes how requests fare.
func (k *talk) set(change func(*talk)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(k)
}

// noted notes a request, and reports whether it gets no answer.
func (k *talk) noted(asked string) (hangs bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, asked)
	return k.hangs != nil && k.hangs(asked)
}

func newTalk() *talk { return &talk{last: 100} }

// refusing answers requests that a pattern describes with a status and a message.
func refusing(pattern string, status int, message string) func(http.ResponseWriter, string) bool {
	of := regexp.MustCompile(pattern)
	return func(w http.ResponseWriter, asked string) bool {
		if !of.MatchString(asked) {
			return false
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
		return true
	}
}

var (
	ofIssue   = regexp.MustCompile(`^issues/(\d+)/comments$`)
	ofComment = regexp.MustCompile(`^issues/comments/(\d+)$`)
)

// answers answers a request that is about comments.
func (k *talk) answers(w http.ResponseWriter, r *http.Request) bool {
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/"), "repos/o/r/")
	if !ofIssue.MatchString(path) && !ofComment.MatchString(path) && path != "graphql" && path != "user" {
		return false
	}
	asked := r.Method + " " + path
	if k.noted(asked) {
		_, _ = io.Copy(io.Discard, r.Body) // or else the end of the connection is not noticed
		<-r.Context().Done()
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fault != nil && k.fault(w, asked) {
		return true
	}
	if r.Header.Get("Authorization") != "Bearer "+artifactstest.APIToken {
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	answer, status := k.carryOut(r, path)
	if k.lost != nil && k.lost(asked) {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer) // who has asked may be gone
	}
	return true
}

func (k *talk) carryOut(r *http.Request, path string) (any, int) {
	self := map[string]any{"login": jobsAccount}
	if k.gitea {
		self["login"] = "gitea-actions"
	}
	switch {
	case path == "graphql" && !k.gitea:
		return map[string]any{"data": map[string]any{"viewer": self}}, http.StatusOK
	case path == "user" && k.gitea:
		return self, http.StatusOK
	case path == "user" || path == "graphql":
		return map[string]any{"message": "Resource not accessible by integration"}, http.StatusForbidden
	}
	var sent struct{ Body string }
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		_ = json.NewDecoder(r.Body).Decode(&sent) // what can't be read is empty
	}
	if m := ofIssue.FindStringSubmatch(path); m != nil {
		number, _ := strconv.Atoi(m[1])
		return k.onIssue(r, number, sent.Body, fmt.Sprint(self["login"]))
	}
	id, _ := strconv.ParseInt(ofComment.FindStringSubmatch(path)[1], 10, 64)
	return k.onComment(r.Method, id, sent.Body)
}

func (k *talk) onIssue(r *http.Request, number int, body, author string) (any, int) {
	if r.Method == http.MethodPost {
		k.last++
		k.all = append(k.all, said{ID: k.last, Body: body, Author: author, Number: number})
		return k.all[len(k.all)-1], http.StatusCreated
	}
	list := []said{}
	for _, c := range k.all {
		if c.Number == number {
			list = append(list, c)
		}
	}
	return list, http.StatusOK
}

func (k *talk) onComment(method string, id int64, body string) (any, int) {
	at := slices.IndexFunc(k.all, func(c said) bool { return c.ID == id })
	switch {
	case at < 0:
		return nil, http.StatusNotFound
	case method == http.MethodDelete:
		k.all = slices.Delete(k.all, at, at+1)
		return nil, http.StatusNoContent
	case method == http.MethodPatch:
		k.all[at].Body = body
		k.all[at].Edits++
	}
	return k.all[at], http.StatusOK
}

// add has somebody comment, and returns the comment's id.
func (k *talk) add(number int, author, body string) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	k.all = append(k.all, said{ID: k.last, Body: body, Author: author, Number: number})
	return k.last
}

// by are the comments of an author on an issue.
func (k *talk) by(number int, author string) []said {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []said
	for _, c := range k.all {
		if c.Author == author && c.Number == number {
			list = append(list, c)
		}
	}
	return list
}

// requests are what was asked.
func (k *talk) requests() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.asked)
}
