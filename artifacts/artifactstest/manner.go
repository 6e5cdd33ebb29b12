package artifactstest

import (
	"maps"
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

// place is a name in a run.
type place struct {
	run  int64
	name string
}

func (s *Server) newID(a Stored) int64 {
	at := place{a.Run, a.Name}
	if id, ok := s.ids[at]; ok && s.Manner.SameIDs {
		return id
	}
	if s.ids == nil {
		s.ids = map[place]int64{}
	}
	s.ids[at] = s.next
	s.next++
	return s.ids[at]
}

// drop removes an artifact.
func (s *Server) drop(at int) {
	s.artifacts = slices.Delete(s.artifacts, at, at+1)
	s.changed()
}

// forget drops what was begun under a name and never finished.
func (s *Server) forget(run int64, name string) {
	maps.DeleteFunc(s.open, func(_ string, b *blob) bool { return b.run == run && b.name == name })
}

func (s *Server) changed() {
	if s.Watch != nil {
		s.Watch(slices.Clone(s.artifacts))
	}
}

// hold keeps a name refused after its delete.
func (s *Server) hold(run int64, name string) {
	if s.held == nil {
		s.held = map[place]int{}
	}
	s.held[place{run, name}] = s.Manner.Held
}

func (s *Server) stillHeld(run int64, name string) bool {
	at := place{run, name}
	if s.held[at] == 0 {
		return false
	}
	s.held[at]--
	return true
}

// refusedEmpty answers for a run without artifacts as some services do.
func (s *Server) refusedEmpty(w http.ResponseWriter, run int64) bool {
	has := func(a Stored) bool { return a.Run == run }
	switch {
	case slices.ContainsFunc(s.artifacts, has):
		return false
	case s.Manner.EmptyDrops:
		panic(http.ErrAbortHandler)
	case s.Manner.EmptyIs404:
		refuse(w, 404, "no artifacts")
		return true
	}
	return false
}
