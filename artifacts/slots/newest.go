package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/artifacts"
)

// maxCompared is the maximum number of other workflow runs that are checked although they turn out
// to have stored another run.
const maxCompared = 5

// newestOfRun returns the newest checkpoint of the chosen checkpoint's run, which other workflow
// runs may have continued. It removes the files of the others. It fails with *Conflict if two
// workflow runs continued the same checkpoint, because each has work that the other lacks.
func (s *search) newestOfRun(ctx context.Context, chosen *Found) (*Found, error) {
	others, err := s.continued(ctx, chosen)
	if isA[*NoAccess](err) && chosen.InThisRun {
		err = nil // checkpoints of this workflow run can be resumed without the API
	}
	all := append([]*Found{chosen}, others...)
	newest := slices.MaxFunc(all, func(a, b *Found) int { return compareAge(a.Manifest, b.Manifest) })
	for _, f := range all {
		if err == nil && f != newest && f.partedFrom(newest) {
			err = &Conflict{Name: newest.Artifact.Name, ID: newest.Artifact.ID, What: fmt.Sprintf(
				"%s and %s both resumed the same checkpoint of run %s; delete the artifacts of one of them, or start a new run with resume: never",
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

// continued reads the newest checkpoint of each other workflow run that has stored the same run
// since the chosen checkpoint, or since its base, the checkpoint that its job resumed. Checkpoints
// of another origin, and unreadable ones, are skipped.
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

// storedSince returns artifacts that other workflow runs have stored since the chosen checkpoint,
// or since its base: the newest by id of each workflow run, oldest first.
func (s *search) storedSince(ctx context.Context, chosen *Found) (list []artifacts.RunArtifact, err error) {
	names := s.q.place().Names()
	since, base := chosen.Artifact.ID, chosen.Manifest.Base
	omit := map[int64]bool{chosen.RunID: true}
	if base != nil {
		since = base.ArtifactID
		omit[base.RunID] = omit[base.RunID] || s.q.SameIDs // with fixed ids, all its artifacts may be older than the base
	}
	for a, err := range s.elsewhere(ctx, names[:]...) {
		if err != nil && !errors.Is(err, ErrListTooLong) { // runs beyond the newest 3,000 artifacts no longer matter
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

// partedFrom reports whether f belongs to a second branch of the newest checkpoint's run: both jobs
// resumed the same checkpoint, or one job resumed a checkpoint of the other job's workflow run,
// which continued nevertheless. Checkpoints older than the base of the newest checkpoint don't
// matter.
func (f *Found) partedFrom(newest *Found) bool {
	a, b := newest.Manifest, f.Manifest
	if a.Base != nil && f.Artifact.ID <= a.Base.ArtifactID {
		return false
	}
	sameBase := a.Base != nil && b.Base != nil && a.Base.Digest != "" && a.Base.Digest == b.Base.Digest
	return sameBase || newest.leftBehind(f) || f.leftBehind(newest)
}

// leftBehind reports whether f's job resumed an older checkpoint of other's workflow run than
// other.
func (f *Found) leftBehind(other *Found) bool {
	base := f.Manifest.Base
	return base != nil && f.RunID != other.RunID && base.RunID == other.RunID && base.Digest != other.Digest
}
