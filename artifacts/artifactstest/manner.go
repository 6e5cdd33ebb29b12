package artifactstest

import (
	"net/http"
	"slices"
)

// Manner is what differs between the services. The zero value is GitHub's.
type Manner struct {
	SameIDs    bool // what is stored again under its name keeps its id
	EmptyIs404 bool // a list of nothing is not found
	EmptyDrops bool // a list of nothing ends the connection
	// Bare is the REST API of Gitea: it leaves out digests and the ids of
	// repositories, tells the oldest first in pages of 50, the bare names of workflow
	// files, and no branch of a fork's run.
	Bare bool
	// Held is how often a name is refused after its delete.
	Held int
	// FinalTwice makes a second artifact of what is finished a second time, instead
	// of finding nothing.
	FinalTwice bool
}

// AsGitea makes the server behave as Gitea 1.26 does.
func (s *Server) AsGitea() {
	s.CamelCase, s.NoDigest, s.Replaces = true, true, true
	s.Manner = Manner{SameIDs: true, EmptyIs404: true, Bare: true}
}

// AsAct makes the server behave as act does.
func (s *Server) AsAct() {
	s.CamelCase, s.NoDigest, s.Replaces = true, true, true
	s.Manner = Manner{SameIDs: true, EmptyDrops: true}
}

// drop removes an artifact.
func (s *Server) drop(at int) {
	s.stored.remove(at)
	s.changed()
}

func (s *Server) changed() {
	if s.Watch != nil {
		s.Watch(slices.Clone(s.stored.artifacts))
	}
}

// refusedEmpty answers for a run without artifacts as some services do.
func (s *Server) refusedEmpty(w http.ResponseWriter, run int64) bool {
	has := func(a Stored) bool { return a.Run == run }
	switch {
	case slices.ContainsFunc(s.stored.artifacts, has):
		return false
	case s.Manner.EmptyDrops:
		panic(http.ErrAbortHandler)
	case s.Manner.EmptyIs404:
		refuse(w, 404, "no artifacts")
		return true
	}
	return false
}
