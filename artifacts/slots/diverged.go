package slots

import (
	"context"
	"errors"
	"fmt"
)

// maxCompared is how many other workflow runs are compared with the chosen one.
const maxCompared = 5

// checkDiverged fails with *Conflict when another workflow run resumed the same
// checkpoint as the run of the chosen one did: each has work that the other lacks.
func (s *search) checkDiverged(ctx context.Context, chosen *opened) error {
	if chosen.manifest.Base == nil {
		return nil
	}
	var others []candidate
	err := s.listElsewhere(ctx)
	if err == nil {
		others, err = s.storedSince(ctx, chosen)
	}
	if err != nil {
		return s.unlessHere(chosen, err)
	}
	for _, c := range others {
		o, err := s.read(ctx, c)
		if err != nil {
			s.passed.add(c.stored, c.run.URL, err.Error())
			continue
		}
		o.remove()
		if o.divergesFrom(chosen) {
			return &Conflict{Name: chosen.artifact.Name, ID: chosen.artifact.ID, What: fmt.Sprintf(
				"%s and %s both resumed the same checkpoint of run %s; delete the artifacts of one of them, or start anew with resume: never",
				runName(chosen.run.ID, chosen.run.URL), runName(o.run.ID, o.run.URL), o.manifest.WorkflowID)}
		}
	}
	return nil
}

// unlessHere lets a re-run resume without the REST API, which it needs for nothing
// else.
func (s *search) unlessHere(chosen *opened, err error) error {
	if !chosen.here {
		return err
	}
	if !isNoAccess(err) {
		s.passed.texts = append(s.passed.texts, "whether another workflow run resumed the same checkpoint is not known: "+err.Error())
	}
	return nil
}

// storedSince returns the newest accepted candidate of each other workflow run that
// stored something after the checkpoint that the chosen one's run resumed.
func (s *search) storedSince(ctx context.Context, chosen *opened) ([]candidate, error) {
	base := chosen.manifest.Base
	seen := map[int64]bool{chosen.run.ID: true}
	if s.q.SameIDs {
		seen[base.RunID] = true // ids don't tell, and all that it has may be older than the base
	}
	var list []candidate
	for at := 0; len(list) < maxCompared; at++ {
		a, more, err := s.others.at(ctx, at)
		if errors.Is(err, ErrListTooLong) {
			err = nil // runs that are older than 3,000 artifacts no longer matter
		}
		if err != nil || !more || a.ID <= base.ArtifactID {
			return list, err
		}
		if seen[a.RunID] || a.Expired {
			continue
		}
		c, ok, err := s.accept(ctx, a)
		if err != nil {
			return nil, err
		}
		if ok {
			seen[a.RunID] = true
			list = append(list, c)
		}
	}
	return list, nil
}

// divergesFrom reports whether a checkpoint of another workflow run is of a second
// line of the chosen one's run, that parted where the chosen one's workflow run
// resumed it: somebody else resumed that too, or its own run continued after it.
func (o *opened) divergesFrom(chosen *opened) bool {
	a, b := chosen.manifest, o.manifest
	if a.WorkflowID != b.WorkflowID {
		return false
	}
	sameBase := b.Base != nil && a.Base.Digest != "" && a.Base.Digest == b.Base.Digest
	samePrevious := a.Previous != "" && a.Previous == b.Previous
	return sameBase || samePrevious || o.run.ID == a.Base.RunID
}
