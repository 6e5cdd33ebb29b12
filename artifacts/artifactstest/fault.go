package artifactstest

import (
	"io"
	"net/http"
)

// Fault makes requests fail.
type Fault struct {
	Op     string // part of the path, as in "CreateArtifact" or "comp=block"
	Times  int    // how many requests
	Status int    // 0 drops the connection
	Body   string
	Header map[string]string
	// After carries the request out, and spoils the answer alone.
	After bool
}

// Fail adds a fault.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

func fail(w http.ResponseWriter, f *Fault) {
	if f.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	for k, v := range f.Header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(f.Status)
	io.WriteString(w, f.Body)
}
