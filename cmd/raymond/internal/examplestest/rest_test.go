package examplestest

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// api answers what workflows ask of the REST API. What is not known here is not
// found, and the test that asks for it fails.
func (f *Forge) api(w http.ResponseWriter, r *http.Request, q Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := strings.Split(strings.TrimPrefix(q.Path, "/"), "/")
	if q.Path == "" {
		answer(w, 200, map[string]any{"id": RepositoryID, "full_name": Repository, "private": true, "default_branch": "main"})
		return
	}
	switch parts[0] {
	case "collaborators":
		f.permission(w, parts)
	case "issues":
		f.issue(w, r, q, parts)
	case "pulls":
		f.pull(w, r, q, parts)
	case "commits":
		f.checks(w, q, parts)
	default:
		f.unknown(w, q)
	}
}

func (f *Forge) unknown(w http.ResponseWriter, q Request) {
	f.t.Errorf("forge: got the request %v, which it doesn't know", q)
	refuse(w, http.StatusNotFound, "Not Found")
}

func (f *Forge) permission(w http.ResponseWriter, parts []string) {
	if level := f.Levels[parts[1]]; level != "" {
		answer(w, 200, map[string]any{"permission": level})
		return
	}
	refuse(w, http.StatusNotFound, "Not Found")
}

// checks answers how the checks of a commit stand.
func (f *Forge) checks(w http.ResponseWriter, q Request, parts []string) {
	switch {
	case len(parts) == 3 && parts[2] == "status":
		answer(w, 200, map[string]any{"state": "pending", "statuses": []any{}})
	case len(parts) == 3 && parts[2] == "check-runs":
		answer(w, 200, map[string]any{"total_count": len(f.Checks), "check_runs": f.Checks})
	default:
		f.unknown(w, q)
	}
}

// issue answers what begins with /issues.
func (f *Forge) issue(w http.ResponseWriter, r *http.Request, q Request, parts []string) {
	if r.Method == "GET" && len(parts) == 1 {
		answer(w, 200, f.listIssues(r))
		return
	}
	if len(parts) == 3 && parts[1] == "comments" {
		f.editComment(w, q, parts[2])
		return
	}
	i := f.byNumber(parts)
	if i == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	switch what := strings.Join(parts[2:], "/"); {
	case r.Method == "GET" && what == "":
		answer(w, 200, i.json())
	case what == "comments":
		f.comment(w, r, q, i)
	case strings.HasPrefix(what, "labels"):
		i.changeLabels(w, r, q)
	default:
		f.unknown(w, q)
	}
}

// comment tells the comments of an issue, or makes one more.
func (f *Forge) comment(w http.ResponseWriter, r *http.Request, q Request, i *Issue) {
	if r.Method != "POST" {
		answer(w, 200, pageOf(r, i.comments()))
		return
	}
	f.last.comment++
	i.Notes = append(i.Notes, Comment{ID: 9000 + f.last.comment, Author: bot, Body: text(q.Body["body"]), Created: time.Now()})
	answer(w, 201, i.Notes[len(i.Notes)-1].json())
}

// changeLabels answers what begins with /issues/N/labels.
func (i *Issue) changeLabels(w http.ResponseWriter, r *http.Request, q Request) {
	name := path.Base(q.Path)
	switch {
	case r.Method == "POST":
		i.label(q.Body["labels"])
	case r.Method == "DELETE" && slices.Contains(i.Labels, name):
		i.Labels = slices.DeleteFunc(i.Labels, func(l string) bool { return l == name })
	case r.Method == "DELETE":
		refuse(w, http.StatusNotFound, "Label does not exist")
		return
	}
	answer(w, 200, i.labels())
}

func (f *Forge) byNumber(parts []string) *Issue {
	for _, i := range f.issues {
		if len(parts) > 1 && parts[1] == strconv.Itoa(i.Number) {
			return i
		}
	}
	return nil
}

// listIssues are those of a page that have all the labels that are asked for, the
// newest first unless the oldest are asked for.
func (f *Forge) listIssues(r *http.Request) []any {
	v := r.URL.Query()
	found := []any{}
	for _, i := range f.issues {
		fits := v.Get("state") == "all" || i.State == "open"
		for label := range strings.SplitSeq(v.Get("labels"), ",") {
			fits = fits && (label == "" || slices.Contains(i.Labels, label))
		}
		if fits {
			found = append(found, i.json())
		}
	}
	if v.Get("direction") != "asc" {
		slices.Reverse(found)
	}
	return pageOf(r, found)
}

// pageOf is the part of a list that a request asks for.
func pageOf(r *http.Request, all []any) []any {
	size, page := 30, 1
	if n, err := strconv.Atoi(r.URL.Query().Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("page")); err == nil && n > 0 {
		page = n
	}
	from := min((page-1)*size, len(all))
	return all[from:min(from+size, len(all))]
}

// editComment tells, changes or removes a comment of any issue.
func (f *Forge) editComment(w http.ResponseWriter, q Request, id string) {
	for _, i := range f.issues {
		n := slices.IndexFunc(i.Notes, func(c Comment) bool { return strconv.Itoa(c.ID) == id })
		switch {
		case n < 0:
			continue
		case q.Method == "DELETE":
			i.Notes = slices.Delete(i.Notes, n, n+1)
			w.WriteHeader(http.StatusNoContent)
			return
		case q.Method == "PATCH":
			i.Notes[n].Body = text(q.Body["body"])
		}
		answer(w, 200, i.Notes[n].json())
		return
	}
	refuse(w, http.StatusNotFound, "Not Found")
}

func (i *Issue) label(names any) {
	list, _ := names.([]any)
	for _, name := range list {
		if !slices.Contains(i.Labels, text(name)) {
			i.Labels = append(i.Labels, text(name))
		}
	}
}

func (i *Issue) json() any {
	fields := map[string]any{
		"number": i.Number, "title": i.Title, "body": i.Body, "state": i.State, "labels": i.labels(),
		"user": map[string]any{"login": i.Author, "type": "User"}, "comments": len(i.Notes),
	}
	if i.IsPull {
		fields["pull_request"] = map[string]any{}
	}
	return fields
}

func (i *Issue) labels() []any {
	list := []any{}
	for _, l := range i.Labels {
		list = append(list, map[string]any{"name": l})
	}
	return list
}

// bot is the login of the token's account.
const bot = "github-actions[bot]"

func (i *Issue) comments() []any {
	list := []any{}
	for _, c := range i.Notes {
		list = append(list, c.json())
	}
	return list
}

func (c Comment) json() any {
	kind := "User"
	if strings.HasSuffix(c.Author, "[bot]") {
		kind = "Bot"
	}
	return map[string]any{
		"id": c.ID, "body": c.Body, "user": map[string]any{"login": c.Author, "type": kind}, "created_at": c.Created.UTC().Format(time.RFC3339),
	}
}

// pull answers what begins with /pulls.
func (f *Forge) pull(w http.ResponseWriter, r *http.Request, q Request, parts []string) {
	switch {
	case r.Method == "GET" && len(parts) == 1:
		answer(w, 200, f.listPulls(r))
	case r.Method == "POST" && len(parts) == 1:
		f.createPull(w, q.Body)
	case r.Method == "PATCH" && len(parts) == 2:
		f.editPull(w, q.Body, parts[1])
	case r.Method == "GET" && len(parts) == 2:
		f.editPull(w, nil, parts[1])
	case r.Method == "GET" && len(parts) == 3: // reviews, and comments on lines
		answer(w, 200, []any{})
	default:
		f.unknown(w, q)
	}
}

func (f *Forge) listPulls(r *http.Request) []any {
	v := r.URL.Query()
	fits := func(name, value string) bool { return v.Get(name) == "" || v.Get(name) == value }
	found := []any{}
	for _, p := range f.pulls {
		if fits("head", "acme:"+p.Head) && fits("base", p.Base) && (p.State == "open" || v.Get("state") == "all") {
			found = append(found, f.pullJSON(p))
		}
	}
	return found
}

// createPull refuses what GitHub refuses.
func (f *Forge) createPull(w http.ResponseWriter, fields map[string]any) {
	p := &Pull{
		Title: text(fields["title"]), Body: text(fields["body"]), State: "open",
		Head: text(fields["head"]), Base: text(fields["base"]),
	}
	head, base := f.commit(p.Head), f.commit(p.Base)
	same := func(o *Pull) bool { return o.State == "open" && o.Head == p.Head && o.Base == p.Base }
	switch {
	case p.Title == "" || head == "" || base == "":
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed")
	case head == base:
		refuse(w, http.StatusUnprocessableEntity, "No commits between "+p.Base+" and "+p.Head)
	case slices.ContainsFunc(f.pulls, same):
		refuse(w, http.StatusUnprocessableEntity, "A pull request already exists for "+p.Head)
	default:
		f.last.pull++
		p.Number = f.last.pull
		f.pulls = append(f.pulls, p)
		f.issues = append(f.issues, &Issue{Number: p.Number, Title: p.Title, State: "open", Author: bot, IsPull: true})
		answer(w, 201, f.pullJSON(p))
	}
}

// editPull tells a pull request, with fields that are changed before.
func (f *Forge) editPull(w http.ResponseWriter, fields map[string]any, number string) {
	for _, p := range f.pulls {
		if strconv.Itoa(p.Number) != number {
			continue
		}
		for name, field := range map[string]*string{"title": &p.Title, "body": &p.Body, "state": &p.State} {
			if value, ok := fields[name]; ok {
				*field = text(value)
			}
		}
		answer(w, 200, f.pullJSON(p))
		return
	}
	refuse(w, http.StatusNotFound, "Not Found")
}

func (f *Forge) pullJSON(p *Pull) any {
	return map[string]any{
		"number": p.Number, "title": p.Title, "body": p.Body, "state": p.State,
		"html_url": fmt.Sprintf("%s/%s/pull/%d", f.URL, Repository, p.Number),
		"head":     map[string]any{"ref": p.Head, "repo": map[string]any{"id": RepositoryID}},
		"base":     map[string]any{"ref": p.Base, "repo": map[string]any{"id": RepositoryID}},
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
