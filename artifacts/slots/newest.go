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
func (s *search) newestOfRun(ctx context.Context, chosen *opened) (*opened, error) {
	others, err := s.continued(ctx, chosen)
	if isNoAccess(err) && s.isHere(chosen) {
		err = nil // what this workflow run has can be resumed without the API
	}
	newest := chosen
	for _, o := range others {
		if compareAge(o.manifest, newest.manifest) > 0 {
			newest = o
		}
	}
	for _, o := range append(others, chosen) {
		if o == newest {
			continue
		}
		if err == nil && o.partedFrom(newest) {
			err = &Conflict{Name: newest.Name, ID: newest.ID, What: fmt.Sprintf(
				"%s and %s both resumed the same checkpoint of run %s; delete the artifacts of one of them, or start anew with resume: never",
				runName(newest.run.ID, newest.run.URL), runName(o.run.ID, o.run.URL), o.manifest.WorkflowID)}
		}
		o.remove()
	}
	if err != nil {
		newest.remove()
		return nil, err
	}
	return newest, nil
}

// continued reads the newest checkpoint of each other workflow run that stored one of the
// same run after the chosen one, or after that which the chosen one's job resumed. Those
// that can't be read are passed over.
func (s *search) continued(ctx context.Context, chosen *opened) (others []*opened, err error) {
	if err := s.listElsewhere(ctx); err != nil {
		return nil, err
	}
	stored, err := s.storedSince(ctx, chosen)
	for misses := 0; err == nil && misses < maxCompared && len(stored) > 0; stored = stored[1:] {
		var o *opened
		if o, err = s.readAccepted(ctx, stored[0]); o == nil {
			continue
		}
		if o.manifest.WorkflowID == chosen.manifest.WorkflowID {
			others = append(others, o)
			continue
		}
		o.remove()
		misses++
	}
	return others, err
}

// readAccepted returns the newest checkpoint of what a workflow run has, by what may be its newest; nil where that is
// of another origin, or can't be read.
func (s *search) readAccepted(ctx context.Context, stored artifacts.Stored) (*opened, error) {
	group, err := s.screen(ctx, stored)
	if err != nil || group == nil {
		return nil, err
	}
	o, _, err := s.newest(ctx, group)
	if _, isAway := errors.AsType[*Unavailable](err); isAway || ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		s.passed.add(stored, group[0].run.URL, err.Error())
	}
	return o, nil
}

// storedSince returns what other workflow runs stored after the chosen checkpoint, or
// after that which its job resumed: first the one that did so soonest, and of each the
// newest by its id.
func (s *search) storedSince(ctx context.Context, chosen *opened) (list []artifacts.Stored, err error) {
	since, base := chosen.ID, chosen.manifest.Base
	omit := map[int64]bool{chosen.run.ID: true}
	if base != nil {
		since = base.ArtifactID
		omit[base.RunID] = omit[base.RunID] || s.q.SameIDs // all that it has may be older than the base
	}
	for a, err := range s.others.from(ctx) {
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
func (o *opened) partedFrom(newest *opened) bool {
	a, b := newest.manifest, o.manifest
	if a.Base != nil && o.ID <= a.Base.ArtifactID {
		return false
	}
	sameBase := a.Base != nil && b.Base != nil && a.Base.Digest != "" && a.Base.Digest == b.Base.Digest
	samePrevious := a.Previous != "" && a.Previous == b.Previous
	return sameBase || samePrevious || newest.leftBehind(o) || o.leftBehind(newest)
}

// leftBehind reports whether a checkpoint's job resumed what another one's workflow run
// had stored before that other one.
func (o *opened) leftBehind(other *opened) bool {
	base := o.manifest.Base
	return base != nil && o.run.ID != other.run.ID && base.RunID == other.run.ID && base.Digest != other.digest
}
