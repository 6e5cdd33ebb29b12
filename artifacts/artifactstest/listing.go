package artifactstest

import (
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// restList tells a page of the artifacts of all runs.
func (s *Server) restList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var run int64 // of which all are listed; 0 for all runs
	if _, rest, ok := strings.Cut(r.URL.Path, "/runs/"); ok {
		run, _ = strconv.ParseInt(strings.TrimSuffix(rest, "/artifacts"), 10, 64)
	}
	named := []Stored{}
	for _, a := range s.stored.artifacts {
		if name := q.Get("name"); (name == "" || name == a.Name) && (run == 0 || run == a.Run) {
			named = append(named, a)
		}
	}
	slices.SortFunc(named, func(a, b Stored) int { return int(b.ID - a.ID) })
	size, _ := strconv.Atoi(q.Get("per_page"))
	if s.Manner.Bare {
		slices.Reverse(named)
		size, _ = strconv.Atoi(q.Get("limit"))
		size = min(size, 50)
	}
	number, _ := strconv.Atoi(q.Get("page"))
	from := min(max(0, number-1)*max(1, size), len(named))
	list := []any{}
	for _, a := range named[from:min(from+max(1, size), len(named))] {
		list = append(list, s.restArtifact(a))
	}
	json.NewEncoder(w).Encode(map[string]any{"total_count": len(named), "artifacts": list})
}

func (s *Server) restArtifact(a Stored) map[string]any {
	run := map[string]any{"id": a.Run}
	out := map[string]any{
		"id": a.ID, "name": a.Name, "size_in_bytes": len(a.Content), "expired": a.Expired,
		"created_at": a.Created.Format(time.RFC3339), "workflow_run": run,
	}
	if !s.Manner.Bare {
		out["digest"] = a.Digest
		run["repository_id"], run["head_repository_id"] = Repository, s.Runs[a.Run].HeadRepository
		run["head_branch"] = s.Runs[a.Run].HeadBranch
	}
	return out
}

// restRun tells a workflow run.
func (s *Server) restRun(w http.ResponseWriter, id string) {
	n, _ := strconv.ParseInt(id, 10, 64)
	run, ok := s.Runs[n]
	if !ok {
		w.WriteHeader(404)
		return
	}
	out := map[string]any{
		"id": run.ID, "event": run.Event, "status": run.Status, "path": run.Path, "head_branch": run.HeadBranch,
		"html_url": s.URL + "/runs/" + id, "head_repository": map[string]any{"id": run.HeadRepository},
	}
	if s.Manner.Bare {
		delete(out, "head_repository")
		out["path"] = path.Base(run.Path) + "@refs/heads/" + run.HeadBranch
		if run.HeadRepository != Repository {
			out["path"], out["head_branch"] = path.Base(run.Path)+"@refs/pull/2/head", nil
		}
	}
	json.NewEncoder(w).Encode(out)
}
