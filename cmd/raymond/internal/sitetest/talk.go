package sitetest

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

// Said is a comment as the forge keeps it.
type Said struct {
	ID     int64  `json:"id"`
	Body   string `json:"body"`
	Author string `json:"-"`
	Number int    `json:"-"`
	Edits  int    `json:"-"`
}

// MarshalJSON has the form of the REST API.
func (s Said) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"id": s.ID, "body": s.Body, "user": map[string]any{"login": s.Author, "type": "Bot"}})
}

// JobsAccount is whom the token of a job belongs to.
const JobsAccount = "github-actions[bot]"

// Talk stands in for the comments of the repository o/r.
type Talk struct {
	mu    sync.Mutex // guards all below
	all   []Said
	last  int64
	asked []string // methods and paths, as in "POST issues/7/comments"
	Gitea bool     // there is no GraphQL, and no pages

	// fault answers a request instead; it returns whether it has.
	Fault func(w http.ResponseWriter, asked string) bool
	// lost decides whether the answer to what was carried out gets lost.
	lost func(asked string) bool
	// hangs decides whether a request gets no answer, and is not carried out.
	Hangs func(asked string) bool
}

// Set changes how requests fare.
func (k *Talk) Set(change func(*Talk)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(k)
}

// noted notes a request, and reports whether it gets no answer.
func (k *Talk) noted(asked string) (hangs bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, asked)
	return k.Hangs != nil && k.Hangs(asked)
}

func newTalk() *Talk { return &Talk{last: 100} }

// Refusing answers requests that a pattern describes with a status and a message.
func Refusing(pattern string, status int, message string) func(http.ResponseWriter, string) bool {
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
func (k *Talk) answers(w http.ResponseWriter, r *http.Request) bool {
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
	if k.Fault != nil && k.Fault(w, asked) {
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

func (k *Talk) carryOut(r *http.Request, path string) (any, int) {
	self := map[string]any{"login": JobsAccount}
	if k.Gitea {
		self["login"] = "gitea-actions"
	}
	switch {
	case path == "graphql" && !k.Gitea:
		return map[string]any{"data": map[string]any{"viewer": self}}, http.StatusOK
	case path == "user" && k.Gitea:
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

func (k *Talk) onIssue(r *http.Request, number int, body, author string) (any, int) {
	if r.Method == http.MethodPost {
		k.last++
		k.all = append(k.all, Said{ID: k.last, Body: body, Author: author, Number: number})
		return k.all[len(k.all)-1], http.StatusCreated
	}
	list := []Said{}
	for _, c := range k.all {
		if c.Number == number {
			list = append(list, c)
		}
	}
	return list, http.StatusOK
}

func (k *Talk) onComment(method string, id int64, body string) (any, int) {
	at := slices.IndexFunc(k.all, func(c Said) bool { return c.ID == id })
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

// Add has somebody comment, and returns the comment's id.
func (k *Talk) Add(number int, author, body string) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	k.all = append(k.all, Said{ID: k.last, Body: body, Author: author, Number: number})
	return k.last
}

// By are the comments of an author on an issue.
func (k *Talk) By(number int, author string) []Said {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []Said
	for _, c := range k.all {
		if c.Author == author && c.Number == number {
			list = append(list, c)
		}
	}
	return list
}

// Requests are what was asked.
func (k *Talk) Requests() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.asked)
}
