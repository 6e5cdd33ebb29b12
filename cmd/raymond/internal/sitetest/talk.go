package sitetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
)

// Comment is a comment as the fake GitHub stores it.
type Comment struct {
	ID     int64
	Body   string
	Author string
	Number int
	Edits  int
	At     time.Time
}

// MarshalJSON encodes the comment as the REST API does.
func (s Comment) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{
		"id": s.ID, "body": s.Body, "user": accountOf(s.Author), "issue_url": fmt.Sprintf("https://example.test/api/repos/o/r/issues/%d", s.Number),
		"created_at": s.At.UTC().Format(time.RFC3339),
	})
}

// accountOf returns the JSON object that describes a user in the REST API.
func accountOf(login string) map[string]any {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return map[string]any{"login": login, "type": kind}
}

// JobsAccount is the login that a job's token belongs to.
const JobsAccount = "github-actions[bot]"

// CommentAPI is a fake REST API of the comments in the repository o/r.
type CommentAPI struct {
	mu    sync.Mutex // guards the fields below
	all   []Comment
	last  int64
	asked []string // methods and paths, as in "POST issues/7/comments"
	// Authors are the authors of issues and pull requests, by number. The default author is "ann".
	Authors map[int]string

	// Fault may answer a request instead of the API, and reports whether it has. It may be nil.
	Fault func(w http.ResponseWriter, asked string) bool
}

func newTalk() *CommentAPI { return &CommentAPI{last: 100, Authors: map[int]string{}} }

// RefuseRequests returns a Fault that answers all requests matching a pattern with a status and a message.
func RefuseRequests(pattern string, status int, message string) func(http.ResponseWriter, string) bool {
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
	ofReviews = regexp.MustCompile(`^pulls/\d+/(reviews|comments)$`)
	ofOpener  = regexp.MustCompile(`^issues/(\d+)$`)
)

// isCommentPath reports whether a path belongs to the API of comments.
func isCommentPath(path string) bool {
	for _, of := range []*regexp.Regexp{ofIssue, ofComment, ofReviews, ofOpener} {
		if of.MatchString(path) {
			return true
		}
	}
	return path == "graphql" || path == "user"
}

// serve serves a request of the API of comments.
func (k *CommentAPI) serve(w http.ResponseWriter, r *http.Request) bool {
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/"), "repos/o/r/")
	if !isCommentPath(path) {
		return false
	}
	asked := r.Method + " " + path
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, asked)
	if k.Fault != nil && k.Fault(w, asked) {
		return true
	}
	if r.Header.Get("Authorization") != "Bearer "+artifactstest.APIToken {
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	answer, status := k.carryOut(r, path)
	w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer) // the client may have gone away
	}
	return true
}

func (k *CommentAPI) carryOut(r *http.Request, path string) (any, int) {
	switch path {
	case "graphql":
		return map[string]any{"data": map[string]any{"viewer": map[string]any{"login": JobsAccount}}}, http.StatusOK
	case "user":
		return map[string]any{"message": "Resource not accessible by integration"}, http.StatusForbidden
	}
	var sent struct{ Body string }
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		_ = json.NewDecoder(r.Body).Decode(&sent) // a malformed body is empty
	}
	if m := ofIssue.FindStringSubmatch(path); m != nil {
		number, _ := strconv.Atoi(m[1])
		return k.onIssue(r, number, sent.Body)
	}
	if ofReviews.MatchString(path) {
		return []Comment{}, http.StatusOK
	}
	if m := ofOpener.FindStringSubmatch(path); m != nil {
		number, _ := strconv.Atoi(m[1])
		return map[string]any{"number": number, "user": accountOf(cmp.Or(k.Authors[number], "ann"))}, http.StatusOK
	}
	id, _ := strconv.ParseInt(ofComment.FindStringSubmatch(path)[1], 10, 64)
	return k.onComment(r.Method, id, sent.Body)
}

func (k *CommentAPI) onIssue(r *http.Request, number int, body string) (any, int) {
	if r.Method == http.MethodPost {
		return k.add(Comment{Body: body, Author: JobsAccount, Number: number}), http.StatusCreated
	}
	query := r.URL.Query()
	since, _ := time.Parse(time.RFC3339, query.Get("since")) // the zero time if the parameter is missing
	list := k.filter(func(c Comment) bool {
		return c.Number == number && (!c.At.Before(since) || c.Edits > 0)
	})
	size, _ := strconv.Atoi(query.Get("per_page")) // 0, which means all comments, if the parameter is missing
	page, _ := strconv.Atoi(query.Get("page"))
	from := min((max(page, 1)-1)*size, len(list))
	return list[from:min(from+cmp.Or(size, len(list)), len(list))], http.StatusOK
}

// filter returns the comments for which fits returns true; never nil, so that JSON has [] instead of null.
func (k *CommentAPI) filter(fits func(Comment) bool) []Comment {
	list := []Comment{}
	for _, c := range k.all {
		if fits(c) {
			list = append(list, c)
		}
	}
	return list
}

// add stores a comment with the next id and the current time.
func (k *CommentAPI) add(s Comment) Comment {
	k.last++
	if s.ID = k.last; s.At.IsZero() {
		s.At = time.Now()
	}
	k.all = append(k.all, s)
	return s
}

func (k *CommentAPI) onComment(method string, id int64, body string) (any, int) {
	at := slices.IndexFunc(k.all, func(c Comment) bool { return c.ID == id })
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

// Add stores a comment of author on an issue and returns its id.
func (k *CommentAPI) Add(number int, author, body string) int64 {
	return k.AddComment(Comment{Number: number, Author: author, Body: body}).ID
}

// AddComment stores a comment and returns it with its id and time.
func (k *CommentAPI) AddComment(s Comment) Comment {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.add(s)
}

// By returns the comments of an author on an issue.
func (k *CommentAPI) By(number int, author string) []Comment {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.filter(func(c Comment) bool { return c.Author == author && c.Number == number })
}

// Requests returns all requests as "METHOD path".
func (k *CommentAPI) Requests() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.asked)
}
