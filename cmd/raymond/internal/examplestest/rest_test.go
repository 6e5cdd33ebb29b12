package examplestest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object.
type object = map[string]any

// answers answers a request that has the given fields with a status and a value.
type answers func(r *http.Request, fields object) (int, any)

// api has what workflows ask of the REST API, below that of the repository. What is not known
// here is not found, and the test that asks for it fails.
func (f *Forge) api() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]answers{
		"GET /{$}": always(object{"id": RepositoryID, "full_name": Repository, "private": true, "default_branch": "main"}),
		"GET /collaborators/{login}/permission": func(r *http.Request, _ object) (int, any) {
			if level := f.Levels[r.PathValue("login")]; level != "" {
				return http.StatusOK, object{"permission": level}
			}
			return refused(http.StatusNotFound, "Not Found")
		},
		"GET /commits/{sha}/status": always(object{"state": "pending", "statuses": []any{}}),
		"GET /commits/{sha}/check-runs": func(*http.Request, object) (int, any) {
			return http.StatusOK, object{"total_count": len(f.Checks), "check_runs": f.Checks}
		},
		"GET /issues":                           f.listIssues,
		"GET /issues/{number}":                  f.ofIssue((*Issue).tell),
		"/issues/{a}/{b}":                       f.onComments,
		"DELETE /issues/{number}/labels/{name}": f.ofIssue((*Issue).unlabel),
		"GET /pulls":                            f.listPulls,
		"POST /pulls":                           f.createPull,
		"GET /pulls/{number}":                   f.editPull,
		"PATCH /pulls/{number}":                 f.editPull,
		"GET /pulls/{number}/{said}":            always([]any{}), // reviews, and comments on lines
		"/": func(r *http.Request, _ object) (int, any) {
			f.t.Errorf("forge: got the request %s %s, which it doesn't know", r.Method, r.URL)
			return refused(http.StatusNotFound, "Not Found")
		},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			var fields object
			_ = json.NewDecoder(r.Body).Decode(&fields) // without a body there are none
			f.mu.Lock()
			defer f.mu.Unlock()
			status, v := answer(r, fields)
			send(w, status, v)
		})
	}
	return mux
}

func send(w http.ResponseWriter, status int, v any) {
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}

func always(v any) answers {
	return func(*http.Request, object) (int, any) { return http.StatusOK, v }
}

func refused(status int, text string) (int, any) { return status, object{"message": text} }

// ofIssue answers what is about an issue.
func (f *Forge) ofIssue(answer func(*Issue, *http.Request) (int, any)) answers {
	return func(r *http.Request, _ object) (int, any) {
		if i := f.issue(r.PathValue("number")); i != nil {
			return answer(i, r)
		}
		return refused(http.StatusNotFound, "Not Found")
	}
}

func (f *Forge) issue(number string) *Issue {
	at := slices.IndexFunc(f.issues, func(i *Issue) bool { return strconv.Itoa(i.Number) == number })
	if at < 0 {
		return nil
	}
	return f.issues[at]
}

func (i *Issue) tell(*http.Request) (int, any) { return http.StatusOK, i.json() }

func (i *Issue) unlabel(r *http.Request) (int, any) {
	at := slices.Index(i.Labels, r.PathValue("name"))
	if at < 0 {
		return refused(http.StatusNotFound, "Label does not exist")
	}
	i.Labels = slices.Delete(i.Labels, at, at+1)
	return http.StatusOK, i.labels()
}

// onComments answers /issues/NUMBER/comments, the comments of an issue, or one more of them, and
// /issues/comments/ID, one of any issue, also with another text or for the last time.
func (f *Forge) onComments(r *http.Request, fields object) (int, any) {
	if i := f.issue(r.PathValue("a")); i != nil && r.PathValue("b") == "comments" {
		if r.Method != http.MethodPost {
			return http.StatusOK, pageOf(r, i.Notes)
		}
		return http.StatusCreated, f.note(i, bot, text(fields["body"]))
	}
	for _, i := range f.issues {
		at := slices.IndexFunc(i.Notes, func(c Comment) bool { return strconv.Itoa(c.ID) == r.PathValue("b") })
		switch {
		case at < 0:
			continue
		case r.Method == http.MethodDelete:
			i.Notes = slices.Delete(i.Notes, at, at+1)
			return http.StatusNoContent, nil
		case r.Method == http.MethodPatch:
			i.Notes[at].Body = text(fields["body"])
		}
		return http.StatusOK, i.Notes[at]
	}
	return refused(http.StatusNotFound, "Not Found")
}

// note adds a comment.
func (f *Forge) note(i *Issue, author, body string) Comment {
	f.last.comment++
	c := Comment{ID: 9000 + f.last.comment, Author: author, Body: body, Created: time.Now()}
	i.Notes = append(i.Notes, c)
	return c
}

// listIssues are the open ones that have all the labels that are asked for, the oldest first.
func (f *Forge) listIssues(r *http.Request, _ object) (int, any) {
	found := []any{}
	for _, i := range f.issues {
		lacks := func(label string) bool { return label != "" && !slices.Contains(i.Labels, label) }
		if i.State == "open" && !slices.ContainsFunc(strings.Split(r.URL.Query().Get("labels"), ","), lacks) {
			found = append(found, i.json())
		}
	}
	return http.StatusOK, found
}

// pageOf is the part of a list that a request asks for.
func pageOf[T any](r *http.Request, all []T) []T {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil && n > 0 {
			return n
		}
		return otherwise
	}
	size := min(number("per_page", 30), 100)
	from := min((number("page", 1)-1)*size, len(all))
	return append([]T{}, all[from:min(from+size, len(all))]...) // never null
}

func (i *Issue) json() any {
	fields := object{
		"number": i.Number, "title": i.Title, "body": i.Body, "state": i.State, "labels": i.labels(), "user": account(i.Author), "comments": len(i.Notes),
	}
	if i.IsPull {
		fields["pull_request"] = object{}
	}
	return fields
}

func (i *Issue) labels() []any {
	list := []any{}
	for _, l := range i.Labels {
		list = append(list, object{"name": l})
	}
	return list
}

// bot is the login of the token's account.
const bot = "github-actions[bot]"

func account(login string) object {
	if strings.HasSuffix(login, "[bot]") {
		return object{"login": login, "type": "Bot"}
	}
	return object{"login": login, "type": "User"}
}

// MarshalJSON has the form of the REST API.
func (c Comment) MarshalJSON() ([]byte, error) {
	return json.Marshal(object{"id": c.ID, "body": c.Body, "user": account(c.Author), "created_at": c.Created.UTC().Format(time.RFC3339)})
}

func (f *Forge) listPulls(r *http.Request, _ object) (int, any) {
	v, found := r.URL.Query(), []any{}
	for _, p := range f.pulls {
		if p.fits(v) && (p.State == "open" || v.Get("state") == "all") {
			found = append(found, f.pullJSON(p))
		}
	}
	return http.StatusOK, found
}

func (p *Pull) fits(v url.Values) bool {
	is := func(name, value string) bool { return v.Get(name) == "" || v.Get(name) == value }
	return is("head", "acme:"+p.Head) && is("base", p.Base)
}

// createPull refuses what GitHub refuses.
func (f *Forge) createPull(_ *http.Request, fields object) (int, any) {
	p := &Pull{
		Title: text(fields["title"]), Body: text(fields["body"]), State: "open",
		Head: text(fields["head"]), Base: text(fields["base"]),
	}
	head, base := f.commit(p.Head), f.commit(p.Base)
	same := func(o *Pull) bool { return o.State == "open" && o.Head == p.Head && o.Base == p.Base }
	switch {
	case p.Title == "" || head == "" || base == "":
		return refused(http.StatusUnprocessableEntity, "Validation Failed")
	case head == base:
		return refused(http.StatusUnprocessableEntity, "No commits between "+p.Base+" and "+p.Head)
	case slices.ContainsFunc(f.pulls, same):
		return refused(http.StatusUnprocessableEntity, "A pull request already exists for "+p.Head)
	}
	f.last.pull++
	p.Number = f.last.pull
	f.pulls = append(f.pulls, p)
	f.issues = append(f.issues, &Issue{Number: p.Number, Title: p.Title, State: "open", Author: bot, IsPull: true})
	return http.StatusCreated, f.pullJSON(p)
}

// editPull tells a pull request, with fields that are changed before.
func (f *Forge) editPull(r *http.Request, fields object) (int, any) {
	at := slices.IndexFunc(f.pulls, func(p *Pull) bool { return strconv.Itoa(p.Number) == r.PathValue("number") })
	if at < 0 {
		return refused(http.StatusNotFound, "Not Found")
	}
	p := f.pulls[at]
	for name, field := range map[string]*string{"title": &p.Title, "body": &p.Body, "state": &p.State} {
		if value, ok := fields[name]; ok {
			*field = text(value)
		}
	}
	return http.StatusOK, f.pullJSON(p)
}

func (f *Forge) pullJSON(p *Pull) any {
	return object{
		"number": p.Number, "title": p.Title, "body": p.Body, "state": p.State,
		"html_url": fmt.Sprintf("%s/%s/pull/%d", f.URL, Repository, p.Number),
		"head":     object{"ref": p.Head, "repo": object{"id": RepositoryID}},
		"base":     object{"ref": p.Base, "repo": object{"id": RepositoryID}},
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
