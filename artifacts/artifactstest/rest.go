package artifactstest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func (s *Server) content(w http.ResponseWriter, r *http.Request, id string) {
	if r.Header.Get("Authorization") != "" || r.URL.Query().Get("sig") != "c+d=" {
		refuse(w, 403, "no token here, but the signature")
		return
	}
	for _, a := range s.artifacts {
		if strconv.FormatInt(a.ID, 10) == id {
			w.Write(a.Content)
			return
		}
	}
	refuse(w, 404, "gone")
}

// rest is the part of the REST API that reads artifacts and runs.
func (s *Server) rest(w http.ResponseWriter, r *http.Request, path string) {
	if r.Header.Get("Authorization") != "Bearer "+APIToken {
		w.WriteHeader(401)
		return
	}
	id := strings.TrimSuffix(strings.TrimPrefix(path, "artifacts/"), "/zip")
	switch {
	case path == "artifacts":
		s.restList(w, r)
	case strings.HasPrefix(path, "runs/"):
		s.restRun(w, strings.TrimPrefix(path, "runs/"))
	case strings.HasSuffix(path, "/zip"):
		n, _ := strconv.ParseInt(id, 10, 64)
		http.Redirect(w, r, s.contentURL(n), http.StatusFound)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) restList(w http.ResponseWriter, r *http.Request) {
	list := []any{}
	for _, a := range s.artifacts {
		if name := r.URL.Query().Get("name"); name != "" && name != a.Name {
			continue
		}
		list = append(list, map[string]any{
			"id": a.ID, "name": a.Name, "size_in_bytes": len(a.Content), "expired": a.Expired, "digest": a.Digest,
			"created_at": a.Created.Format(time.RFC3339),
			"workflow_run": map[string]any{
				"id": a.Run, "repository_id": Repository, "head_repository_id": s.Runs[a.Run].HeadRepository,
			},
		})
	}
	json.NewEncoder(w).Encode(map[string]any{"total_count": len(list), "artifacts": list})
}

func (s *Server) restRun(w http.ResponseWriter, id string) {
	n, _ := strconv.ParseInt(id, 10, 64)
	run, ok := s.Runs[n]
	if !ok {
		w.WriteHeader(404)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{
		"id": run.ID, "event": run.Event, "status": run.Status, "path": run.Path, "head_branch": run.HeadBranch,
		"html_url": s.URL + "/runs/" + id, "head_repository": map[string]any{"id": run.HeadRepository},
	})
}

// reply writes an answer with names in the server's case.
func (s *Server) reply(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		s.t.Error(err)
	}
	if s.CamelCase {
		data = camel(data)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(data)
}

// camel turns the names of fields from snake case into camel case.
func camel(data []byte) []byte {
	var out []byte
	upper, inName := false, false
	for i, c := range data {
		if c == '"' {
			rest := data[i+1:]
			end := strings.IndexByte(string(rest), '"')
			inName = end >= 0 && end+1 < len(rest) && rest[end+1] == ':' && !inName
		}
		if inName && c == '_' {
			upper = true
			continue
		}
		if upper && c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper = false
		out = append(out, c)
	}
	return out
}
