package examplestest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object.
type object = map[string]any

// answers answers a request that has the given fields with a status and a value.
type answers func(r *http.Request, fields object) (int, any)

// api has what workflows ask of the REST API, below that of the repository. What is not known
// here, the site is asked for.
func (f *Forge) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { f.ask(w, r, "/api/repos/o/r"+r.URL.Path) })
	for pattern, answer := range map[string]answers{
		"GET /{$}":                  always(object{"id": RepositoryID, "full_name": Repository, "private": true, "default_branch": "main"}),
		"GET /commits/{sha}/status": always(object{"state": "pending", "statuses": []any{}}),
		"GET /commits/{sha}/check-runs": func(*http.Request, object) (int, any) {
			return http.StatusOK, object{"total_count": len(f.Checks), "check_runs": f.Checks}
		},
		"GET /issues":                           f.listIssues,
		"GET /issues/{number}":                  f.ofIssue((*Issue).tell),
		"DELETE /issues/{number}/labels/{name}": f.ofIssue((*Issue).unlabel),
		"GET /pulls":                            f.listPulls,
		"POST /pulls":                           f.createPull,
		"GET /pulls/{number}":                   f.editPull,
		"PATCH /pulls/{number}":                 f.editPull,
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

func (i *Issue) json() any {
	fields := object{
		"number": i.Number, "title": i.Title, "body": i.Body, "state": i.State, "labels": i.labels(),
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
	p.Number = 101 + len(f.pulls)
	f.pulls = append(f.pulls, p)
	f.issues = append(f.issues, &Issue{Number: p.Number, Title: p.Title, State: "open", IsPull: true})
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
