package artifactstest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"gotest.tools/v3/assert"
)

func (s *Server) content(w http.ResponseWriter, r *http.Request, id string) {
	if r.Header.Get("Authorization") != "" || r.URL.Query().Get("sig") != "c+d=" {
		refuse(w, 403, "no token here, but the signature")
		return
	}
	for _, a := range s.stored.artifacts {
		if strconv.FormatInt(a.ID, 10) == id {
			w.Header().Set("Content-Type", "application/zip")
			if a.Type != "" {
				w.Header().Set("Content-Type", a.Type)
			}
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
	case strings.HasSuffix(path, "/jobs"):
		run, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(path, "runs/"), "/jobs"), 10, 64)
		jobs, ok := s.Jobs[run]
		if !ok {
			w.WriteHeader(403)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"total_count": len(jobs), "jobs": jobs})
	case strings.HasPrefix(path, "runs/") && strings.HasSuffix(path, "/artifacts"):
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

// reply writes an answer with names in the server's case.
func (s *Server) reply(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	assert.Check(s.t, err)
	if s.CamelCase {
		data = camel(data)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(data)
}

var field = regexp.MustCompile(`"[a-z_]+":`)

// camel turns the names of fields from snake case into camel case.
func camel(data []byte) []byte {
	return field.ReplaceAllFunc(data, func(name []byte) []byte {
		words := bytes.Split(name, []byte("_"))
		for _, word := range words[1:] {
			word[0] -= 'a' - 'A'
		}
		return bytes.Join(words, nil)
	})
}
