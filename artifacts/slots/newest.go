package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/artifacts"
)

// maxCompared is how many other workflow runs are looked at that turn out to have
// another run than the chosen one.
const maxCompared = 5

// newestOfRun returns the newest checkpoint of the run of a chosen one, which other
// workflow runs may have continued; only the files of what it returns are left. It fails
// with *Conflict when two workflow runs continued the same checkpoint: each has work that
// the other lacks.
func (s *search) newestOfRun(ctx context.Context, chosen *Found) (*Found, error) {
	others, err := s.continued(ctx, chosen)
	if isA[*NoAccess](err) && chosen.InThisRun {
		err = nil // what this workflow run has can be resumed without the API
	}
	all := append([]*Found{chosen}, others...)
	newest := slices.MaxFunc(all, func(a, b *Found) int { return compareAge(a.Manifest, b.Manifest) })
	for _, f := range all {
		if err == nil && f != newest && f.partedFrom(newest) {
			err = &Conflict{Name: newest.Artifact.Name, ID: newest.Artifact.ID, What: fmt.Sprintf(
				"%s and %s both resumed the same checkpoint of run %s; delete the artifacts of one of them, or start anew with resume: never",
				runName(newest.RunID, newest.RunURL), runName(f.RunID, f.RunURL), f.Manifest.WorkflowID)}
		}
	}
	for _, f := range all {
		if err != nil || f != newest {
			f.Remove()
		}
	}
	return newest, err
}

// continued reads the newest checkpoint of each other workflow run that stored one of the
// same run after the chosen one, or after that which the chosen one's job resumed. Those
// that are of another origin, or can't be read, are passed over.
func (s *search) continued(ctx context.Context, chosen *Found) (others []*Found, err error) {
	stored, err := s.storedSince(ctx, chosen)
	if err != nil {
		return nil, err
	}
	s.q.Mode = chosen.Manifest.WorkflowID
	for misses := 0; misses < maxCompared && len(stored) > 0; stored = stored[1:] {
		group, err := s.screen(ctx, stored[0])
		if err != nil {
			return others, err
		}
		f, err := s.newest(ctx, group)
		switch {
		case isA[*Unavailable](err) || ctx.Err() != nil:
			return others, err
		case err != nil:
			s.passed.add(stored[0], group[0].run.URL, err.Error())
		case f != nil:
			others = append(others, f)
		case group != nil:
			misses++
		}
	}
	return others, nil
}

// storedSince returns what other workflow runs stored after the chosen checkpoint, or
// after that which its job resumed: first the one that did so soonest, and of each the
// newest by its id.
func (s *search) storedSince(ctx context.Context, chosen *Found) (list []artifacts.RunArtifact, err error) {
	names := s.q.place().Names()
	since, base := chosen.Artifact.ID, chosen.Manifest.Base
	omit := map[int64]bool{chosen.RunID: true}
	if base != nil {
		since = base.ArtifactID
		omit[base.RunID] = omit[base.RunID] || s.q.SameIDs // all that it has may be older than the base
	}
	for a, err := range s.elsewhere(ctx, names[:]...) {
		if err != nil && !errors.Is(err, ErrListTooLong) { // runs that are older than 3,000 artifacts no longer matter
			return nil, err
		}
		if err != nil || a.ID <= since {
			break
		}
		if !omit[a.RunID] && !a.Expired {
			omit[a.RunID] = true
			list = append(list, a)
		}
	}
	slices.Reverse(list)
	return list, nil
}

// partedFrom reports whether a checkpoint is of a second line of the newest one's run:
// both resumed the same one, or one of them resumed what the other's workflow run stored,
// which went on all the same. What is older than the one that the newest's job resumed
// does not matter.
func (f *Found) partedFrom(newest *Found) bool {
	a, b := newest.Manifest, f.Manifest
	if a.Base != nil && f.Artifact.ID <= a.Base.ArtifactID {
		return false
	}
	sameBase := a.Base != nil && b.Base != nil && a.Base.Digest != "" && a.Base.Digest == b.Base.Digest
	return sameBase || newest.leftBehind(f) || f.leftBehind(newest)
}

// leftBehind reports whether a checkpoint's job resumed what another one's workflow run
// had stored before that other one.
func (f *Found) leftBehind(other *Found) bool {
	base := f.Manifest.Base
	return base != nil && f.RunID != other.RunID && base.RunID == other.RunID && base.Digest != other.Digest
}
