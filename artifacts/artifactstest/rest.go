package artifactstest

import (
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strconv"
	"time"
)

// number parses a number. If text is not a number, it returns 0.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// restList answers with a page of a list of artifacts. If the path names a workflow run, the list contains only
// the artifacts of that workflow run.
func (s *Server) restList(w http.ResponseWriter, r *http.Request) {
	q, run := r.URL.Query(), number(r.PathValue("run"))
	var named []Artifact
	for _, a := range s.artifacts {
		if name := q.Get("name"); (name == "" || name == a.Name) && (run == 0 || run == a.Run) {
			named = append(named, a)
		}
	}
	slices.SortFunc(named, func(a, b Artifact) int { return int(b.ID - a.ID) })
	size := max(1, int(number(q.Get("per_page"))))
	if s.Behavior.GiteaREST {
		slices.Reverse(named)
		size = min(max(1, int(number(q.Get("limit")))), 50)
	}
	from := min(max(0, int(number(q.Get("page")))-1)*size, len(named))
	list := []any{}
	for _, a := range named[from:min(from+size, len(named))] {
		run := map[string]any{"id": a.Run}
		out := map[string]any{
			"id": a.ID, "name": a.Name, "size_in_bytes": len(a.Content), "expired": a.Expired,
			"created_at": a.Created.Format(time.RFC3339), "workflow_run": run,
		}
		if !s.Behavior.GiteaREST {
			out["digest"] = a.Digest
			run["repository_id"], run["head_repository_id"] = Repository, s.Runs[a.Run].HeadRepository
			run["head_branch"] = s.Runs[a.Run].HeadBranch
		}
		list = append(list, out)
	}
	json.NewEncoder(w).Encode(map[string]any{"total_count": len(named), "artifacts": list})
}

// restZip redirects to the signed URL of an artifact's content.
func (s *Server) restZip(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, s.contentURL(number(r.PathValue("id"))), http.StatusFound)
}

// restJobs answers with the jobs of a workflow run.
func (s *Server) restJobs(w http.ResponseWriter, r *http.Request) {
	jobs, ok := s.Jobs[number(r.PathValue("run"))]
	if !ok {
		w.WriteHeader(403)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{"total_count": len(jobs), "jobs": jobs})
}

// restRun answers with one workflow run.
func (s *Server) restRun(w http.ResponseWriter, r *http.Request) {
	run, ok := s.Runs[number(r.PathValue("run"))]
	if !ok {
		w.WriteHeader(404)
		return
	}
	out := map[string]any{
		"id": run.ID, "event": run.Event, "status": run.Status, "path": run.Path, "head_branch": run.HeadBranch,
		"html_url": s.URL + "/runs/" + r.PathValue("run"), "head_repository": map[string]any{"id": run.HeadRepository},
	}
	if s.Behavior.GiteaREST {
		delete(out, "head_repository")
		out["path"] = path.Base(run.Path) + "@refs/heads/" + run.HeadBranch
		if run.HeadRepository != Repository {
			out["path"], out["head_branch"] = path.Base(run.Path)+"@refs/pull/2/head", nil
		}
	}
	json.NewEncoder(w).Encode(out)
}
