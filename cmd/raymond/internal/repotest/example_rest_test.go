package repotest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
)

// object is a JSON object.
type object = map[string]any

// Issue is an issue in the form of the REST API.
type Issue struct {
	Number int     `json:"number"`
	Title  string  `json:"title"`
	Body   string  `json:"body"`
	State  string  `json:"state"` // "open" or "closed"
	Labels []Label `json:"labels"`
	Pull   *object `json:"pull_request,omitempty"` // set if the issue is a pull request
}

// Label is a label of an issue.
type Label struct {
	Name string `json:"name"`
}

// Pull is a pull request in the form of the REST API.
type Pull struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	State  string `json:"state"`
	URL    string `json:"html_url"`
	Head   Branch `json:"head"`
	Base   Branch `json:"base"`
}

// Branch is the head or the base of a pull request.
type Branch struct {
	Ref  string `json:"ref"`
	Repo struct {
		ID int64 `json:"id"`
	} `json:"repo"`
}

func branch(ref string) (b Branch) {
	b.Ref, b.Repo.ID = ref, artifactstest.Repository
	return b
}

// handler is a handler of the REST API: it returns a status and a value to encode as JSON.
type handler func(r *http.Request, body []byte) (int, any)

// api serves the requests that example workflows make. All others go to the fake GitHub of package sitetest.
func (f *Forge) api() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", f.site.API.Config.Handler)
	for pattern, answer := range map[string]handler{
		"GET /":                     always(object{"id": artifactstest.Repository, "full_name": "o/r", "private": true, "default_branch": "main"}),
		"GET /commits/{sha}/status": always(object{"state": "pending", "statuses": []any{}}),
		"GET /commits/{sha}/check-runs": func(*http.Request, []byte) (int, any) {
			return http.StatusOK, object{"total_count": len(f.Checks), "check_runs": f.Checks}
		},
		"GET /issues":                           f.listIssues,
		"GET /issues/{number}":                  func(r *http.Request, _ []byte) (int, any) { return http.StatusOK, f.issue(r.PathValue("number")) },
		"DELETE /issues/{number}/labels/{name}": f.unlabel,
		"GET /pulls":                            f.listPulls,
		"POST /pulls":                           f.createPull,
		"GET /pulls/{number}":                   f.editPull,
		"PATCH /pulls/{number}":                 f.editPull,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api/repos/o/r"+strings.TrimSuffix(path, "/"), func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body) // a missing body is empty
			f.mu.Lock()
			defer f.mu.Unlock()
			status, v := answer(r, body)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
		})
	}
	return mux
}

func always(v any) handler {
	return func(*http.Request, []byte) (int, any) { return http.StatusOK, v }
}

func refused(text string) (int, any) { return http.StatusUnprocessableEntity, object{"message": text} }

// issue returns an issue by its number, which must exist.
func (f *Forge) issue(number string) *Issue {
	return f.issues[slices.IndexFunc(f.issues, func(i *Issue) bool { return strconv.Itoa(i.Number) == number })]
}

func (f *Forge) unlabel(r *http.Request, _ []byte) (int, any) {
	i := f.issue(r.PathValue("number"))
	at := slices.Index(i.Labels, Label{r.PathValue("name")})
	if at < 0 {
		return http.StatusNotFound, object{"message": "Label does not exist"}
	}
	i.Labels = slices.Delete(i.Labels, at, at+1)
	return http.StatusOK, i.Labels
}

// listIssues returns the open issues with all requested labels, the oldest first.
func (f *Forge) listIssues(r *http.Request, _ []byte) (int, any) {
	found := []*Issue{}
	for _, i := range f.issues {
		lacks := func(label string) bool { return label != "" && !slices.Contains(i.Labels, Label{label}) }
		if i.State == "open" && !slices.ContainsFunc(strings.Split(r.URL.Query().Get("labels"), ","), lacks) {
			found = append(found, i)
		}
	}
	return http.StatusOK, found
}

func (f *Forge) listPulls(r *http.Request, _ []byte) (int, any) {
	v, found := r.URL.Query(), []*Pull{}
	is := func(name, value string) bool { return v.Get(name) == "" || v.Get(name) == value }
	for _, p := range f.pulls {
		if is("head", "o:"+p.Head.Ref) && is("base", p.Base.Ref) && (p.State == "open" || v.Get("state") == "all") {
			found = append(found, p)
		}
	}
	return http.StatusOK, found
}

// createPull creates a pull request. Like GitHub, it rejects one without a title, between branches that don't exist or
// don't differ, or for which another pull request is open.
func (f *Forge) createPull(_ *http.Request, body []byte) (int, any) {
	var sent struct{ Title, Body, Head, Base string }
	_ = json.Unmarshal(body, &sent) // a malformed body has no title
	n := 101 + len(f.pulls)
	p := &Pull{
		Number: n, Title: sent.Title, Body: sent.Body, State: "open", Head: branch(sent.Head), Base: branch(sent.Base),
		URL: fmt.Sprintf("%s/o/r/pull/%d", f.URL, n),
	}
	head, base := f.commit(sent.Head), f.commit(sent.Base)
	switch {
	case p.Title == "" || head == "" || base == "":
		return refused("Validation Failed")
	case head == base:
		return refused("No commits between " + sent.Base + " and " + sent.Head)
	case slices.ContainsFunc(f.pulls, func(o *Pull) bool { return o.State == "open" && o.Head == p.Head && o.Base == p.Base }):
		return refused("A pull request already exists for " + sent.Head)
	}
	f.pulls = append(f.pulls, p)
	f.issues = append(f.issues, &Issue{Number: n, Title: p.Title, State: "open", Labels: []Label{}, Pull: &object{}})
	return http.StatusCreated, p
}

// editPull changes the given fields of a pull request and returns it.
func (f *Forge) editPull(r *http.Request, body []byte) (int, any) {
	p := f.pulls[slices.IndexFunc(f.pulls, func(p *Pull) bool { return strconv.Itoa(p.Number) == r.PathValue("number") })]
	_ = json.Unmarshal(body, p) // a GET has no body
	return http.StatusOK, p
}
