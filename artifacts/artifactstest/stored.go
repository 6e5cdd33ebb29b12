package artifactstest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

// stored is what a server has.
type stored struct {
	artifacts []Stored
	next      int64           // id
	ids       map[place]int64 // that names had before
	held      map[place]int   // how often a name is still refused after its delete
}

// place is a name in a run.
type place struct {
	run  int64
	name string
}

func newStored() stored {
	return stored{next: 1, ids: map[place]int64{}, held: map[place]int{}}
}

// find returns the index of the newest artifact of a run by name, or -1.
func (s *stored) find(run int64, name string) int {
	for i := len(s.artifacts) - 1; i >= 0; i-- {
		if s.artifacts[i].Run == run && s.artifacts[i].Name == name {
			return i
		}
	}
	return -1
}

// add adds an artifact and returns its id, which with sameIDs is the one that its name
// had before.
func (s *stored) add(a Stored, sameIDs bool) int64 {
	at := place{a.Run, a.Name}
	if id, ok := s.ids[at]; ok && sameIDs {
		a.ID = id
	} else {
		a.ID = s.next
		s.next++
	}
	s.ids[at] = a.ID
	if a.Created.IsZero() {
		a.Created = time.Now().UTC()
	}
	sum := sha256.Sum256(a.Content)
	a.Digest = "sha256:" + hex.EncodeToString(sum[:])
	s.artifacts = append(s.artifacts, a)
	return a.ID
}

func (s *stored) remove(at int) { s.artifacts = slices.Delete(s.artifacts, at, at+1) }

// hold has a name refused so many times.
func (s *stored) hold(run int64, name string, times int) { s.held[place{run, name}] = times }

// isHeld reports whether a name is refused, and counts the refusal.
func (s *stored) isHeld(run int64, name string) bool {
	at := place{run, name}
	if s.held[at] == 0 {
		return false
	}
	s.held[at]--
	return true
}

// uploads are the artifacts under way.
type uploads struct {
	open  map[string]*blob
	begun int
}

// begin begins an artifact under a name, in place of an unfinished one, and returns the
// key of its blob.
func (u *uploads) begin(run int64, name string) string {
	maps.DeleteFunc(u.open, func(_ string, b *blob) bool { return b.run == run && b.name == name })
	u.begun++
	key := fmt.Sprintf("b%d", u.begun)
	u.open[key] = &blob{run: run, name: name, blocks: map[string][]byte{}}
	return key
}
