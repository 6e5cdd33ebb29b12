package slots

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/state"
)

// maxReads is how many candidates are downloaded in search of a run's id.
const maxReads = 9

// search is one call of Find.
type search struct {
	q      *Query
	ask    *requests
	passed *passedOver
	found  *Found
	others *list // of other workflow runs; nil before they are asked for
}

func newSearch(f *Finder, q Query) *search {
	ask := &requests{service: f.Service, archive: f.Archive, act: q.Act, left: lookFor, runs: map[int64]artifacts.RunInfo{}}
	return &search{q: &q, ask: ask, passed: &passedOver{}, found: &Found{}}
}

// find fills in what is found, in this workflow run or else in the others.
func (s *search) find(ctx context.Context) error {
	if err := s.listHere(ctx); err != nil {
		return err
	}
	for _, group := range s.groups(s.here()) {
		if done, err := s.try(ctx, group); done || err != nil {
			return err
		}
	}
	if err := s.listElsewhere(ctx); err != nil {
		return err
	}
	return s.findElsewhere(ctx)
}

// findElsewhere tries the candidates of other workflow runs, the newest first. By an
// id the search continues after one that is gone, which may have been another run's.
func (s *search) findElsewhere(ctx context.Context) error {
	var gone error // of the newest that could not be read
	for at, reads := 0, len(s.found.Existing); reads < maxReads; {
		group, err := s.nextGroup(ctx, &at)
		done := err == nil && len(group) == 0
		if len(group) > 0 {
			reads += len(group)
			done, err = s.try(ctx, group)
		}
		switch {
		case isGone(err) && s.q.byID():
			gone = cmp.Or(gone, err)
		case err != nil:
			return err
		case s.found.Manifest != nil:
			return nil
		case done:
			return gone
		}
	}
	return gone
}

// listHere lists what the present workflow run has, oldest first.
func (s *search) listHere(ctx context.Context) error {
	if s.ask.service == nil {
		return nil
	}
	answers, err := s.ask.existing(ctx, s.q.place().Names())
	if err != nil {
		return err
	}
	s.found.Existing = slices.Concat(answers[:]...)
	slices.SortFunc(s.found.Existing, func(a, b artifacts.Artifact) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

// here returns the candidates of the present workflow run, newest first.
func (s *search) here() []candidate {
	var list []candidate
	for _, a := range slices.Backward(s.found.Existing) {
		list = append(list, candidate{artifact: a, run: artifacts.RunInfo{ID: s.q.Job.RunID}, here: true})
	}
	return list
}

// groups puts together the candidates of which only their manifests tell the
// newest. Each of the others is alone.
func (s *search) groups(list []candidate) [][]candidate {
	if s.q.SameIDs && len(list) > 0 {
		return [][]candidate{list}
	}
	return slices.Collect(slices.Chunk(list, 1))
}

// listElsewhere begins to list what other workflow runs have.
func (s *search) listElsewhere(ctx context.Context) error {
	if s.ask.archive == nil {
		return &NoAccess{}
	}
	if s.others != nil {
		return nil
	}
	s.others = newList(s.ask, s.q.place().Names(), s.q.isOwnRun)
	_, more, err := s.others.at(ctx, 0)
	if err != nil || !more {
		return err
	}
	return s.ask.classify(ofLists, "", s.learnWorkflow(ctx))
}

// isOwnRun reports whether an artifact is of the present workflow run, whose results
// service was asked. Gitea's has nothing of earlier attempts of the run.
func (q *Query) isOwnRun(a artifacts.Stored) bool { return a.RunID == q.Job.RunID && !q.Origin.Gitea }

// near is how far after a candidate others of its workflow run are looked for that
// are to be read together with it.
const near = 300

// nextGroup returns the next accepted candidate from a place of the list on, with
// those that are to be read together with it, and moves the place.
func (s *search) nextGroup(ctx context.Context, at *int) ([]candidate, error) {
	for {
		a, more, err := s.others.at(ctx, *at)
		if err != nil || !more {
			return nil, err
		}
		*at++
		if s.others.taken[a.ID] {
			continue
		}
		c, ok, err := s.accept(ctx, a)
		if err != nil {
			return nil, err
		}
		if ok {
			return s.withOthers(ctx, c, *at)
		}
	}
}

// withOthers adds the others of a candidate's workflow run where only manifests tell
// the newest of them.
func (s *search) withOthers(ctx context.Context, c candidate, at int) ([]candidate, error) {
	group := []candidate{c}
	if !s.q.SameIDs {
		return group, nil
	}
	for i := at; i < at+near; i++ {
		b, more, err := s.others.at(ctx, i)
		if errors.Is(err, ErrListTooLong) || err == nil && !more {
			break
		}
		if err != nil {
			return nil, err
		}
		if b.RunID == c.run.ID {
			s.others.taken[b.ID] = true
			group = append(group, candidate{artifact: b.Artifact, stored: b, run: c.run})
		}
	}
	return group, nil
}

// try reads a group of candidates and reports whether the search is over.
func (s *search) try(ctx context.Context, group []candidate) (bool, error) {
	best, manifests, err := s.newest(ctx, group)
	if err == nil && len(group) > 1 && group[0].here {
		sortByAge(s.found.Existing, manifests)
	}
	if err != nil || best == nil {
		return false, err
	}
	if err := s.checkDiverged(ctx, best); err != nil {
		best.remove()
		return false, err
	}
	s.describe(ctx, s.found, best)
	return true, nil
}

// describe fills in what is found: a checkpoint, and who has stored it.
func (s *search) describe(ctx context.Context, f *Found, o *opened) {
	f.Manifest, f.Digest, f.Dir, f.Artifact = &o.manifest, o.digest, o.dir, o.artifact
	f.RunID, f.RunURL, f.RunStatus, f.InThisRun = o.run.ID, o.run.URL, o.run.Status, o.run.ID == s.q.Job.RunID
	if f.InThisRun && o.manifest.Status == state.Running {
		f.JobStatus = s.ask.jobStatus(ctx, s.q, &o.manifest)
	}
}
