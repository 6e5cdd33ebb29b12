package slots

import (
	"cmp"
	"context"
	"iter"
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
	return &search{q: &q, ask: ask, passed: &passedOver{seen: map[int64]bool{}}, found: &Found{}}
}

// find fills in what is found, in this workflow run or else in the others.
func (s *search) find(ctx context.Context) error {
	if err := s.listHere(ctx); err != nil {
		return err
	}
	chosen, err := s.findHere(ctx)
	if err == nil && chosen == nil {
		if err = s.listElsewhere(ctx); err == nil {
			chosen, err = s.findElsewhere(ctx)
		}
	}
	if err != nil || chosen == nil {
		return err
	}
	isHere := s.isHere(chosen)
	newest, err := s.newestOfRun(ctx, chosen)
	if err != nil {
		return err
	}
	s.describe(ctx, s.found, newest)
	s.found.OlderHere = isHere && !s.found.InThisRun
	return nil
}

// findHere returns the newest checkpoint of the present workflow run; nil for none.
func (s *search) findHere(ctx context.Context) (*opened, error) {
	list, err := s.here(ctx)
	if err != nil {
		return nil, err
	}
	best, manifests, err := s.newest(ctx, list)
	if s.q.SameIDs {
		sortByAge(s.found.Existing, manifests)
	}
	return best, err
}

// findElsewhere tries the candidates of other workflow runs, the newest first. By an
// id the search continues after one that is gone, which may have been another run's.
func (s *search) findElsewhere(ctx context.Context) (*opened, error) {
	var gone error // of the newest that could not be read
	reads := len(s.found.Existing)
	for group, err := range s.screened(ctx) {
		var best *opened
		if err == nil {
			reads += len(group)
			best, _, err = s.newest(ctx, group)
		}
		switch {
		case isGone(err) && s.q.byID():
			gone = cmp.Or(gone, err)
		case err != nil || best != nil:
			return best, err
		}
		if reads >= maxReads {
			break
		}
	}
	return nil, gone
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

// here returns the candidates of the present workflow run, newest first. Gitea's results
// service has nothing of its earlier attempts, but its API does.
func (s *search) here(ctx context.Context) ([]candidate, error) {
	var list []candidate
	known := map[int64]bool{}
	for _, a := range slices.Backward(s.found.Existing) {
		known[a.ID] = true
		list = append(list, s.ofThisRun(a))
	}
	if !s.q.Origin.Gitea || s.ask.archive == nil {
		return list, nil
	}
	all, err := s.allOf(ctx, artifacts.RunInfo{ID: s.q.Job.RunID})
	if isNoAccess(err) {
		return list, nil
	}
	for _, c := range s.q.place().of(all) {
		if !known[c.ID] {
			list = append(list, c)
		}
	}
	return list, err
}

// ofThisRun is what the results service of the present workflow run has listed.
func (s *search) ofThisRun(a artifacts.Artifact) candidate {
	return candidate{Stored: artifacts.Stored{Artifact: a}, run: artifacts.RunInfo{ID: s.q.Job.RunID}, here: true}
}

// listElsewhere begins to list what other workflow runs have.
func (s *search) listElsewhere(ctx context.Context) error {
	if s.ask.archive == nil {
		return &NoAccess{}
	}
	if s.others != nil {
		return nil
	}
	names := s.q.place().Names()
	s.others = s.ask.named(s.q.Job.RunID, names[:]...)
	_, more, err := s.others.at(ctx, 0)
	if err != nil || !more {
		return err
	}
	return s.ask.classify(ofLists, "", s.learnWorkflow(ctx))
}

// screened goes through what other workflow runs have, and whose origin is accepted: one
// candidate after the other, or, where only manifests tell the newest of a workflow run,
// all of one together. It continues after an error, but for one of the list.
func (s *search) screened(ctx context.Context) iter.Seq2[[]candidate, error] {
	return func(yield func([]candidate, error) bool) {
		taken := map[int64]bool{} // workflow runs
		for a, err := range s.others.from(ctx) {
			if err == nil && taken[a.RunID] {
				continue
			}
			var group []candidate
			if err == nil {
				group, err = s.screen(ctx, a)
				taken[a.RunID] = s.q.SameIDs
			}
			if (err != nil || group != nil) && !yield(group, err) {
				return
			}
		}
	}
}

// screen asks where an artifact comes from, and returns nothing if it is passed over. Where
// only manifests tell the newest of its workflow run, it returns all that this has.
func (s *search) screen(ctx context.Context, a artifacts.Stored) ([]candidate, error) {
	c, ok, err := s.accept(ctx, a)
	switch {
	case err != nil || !ok:
		return nil, err
	case !s.q.SameIDs:
		return []candidate{c}, nil
	}
	all, err := s.allOf(ctx, c.run)
	all = s.q.place().of(all)
	for i := range all {
		all[i].bySeal = c.bySeal
	}
	return all, err
}

// isHere reports whether a checkpoint is of the present workflow run.
func (s *search) isHere(o *opened) bool { return o.run.ID == s.q.Job.RunID }

// describe fills in what is found: a checkpoint, and who has stored it.
func (s *search) describe(ctx context.Context, f *Found, o *opened) {
	f.Manifest, f.Digest, f.Dir, f.Artifact = &o.manifest, o.digest, o.dir, o.Artifact
	f.RunID, f.RunURL, f.RunStatus, f.InThisRun = o.run.ID, o.run.URL, o.run.Status, s.isHere(o)
	if f.InThisRun && o.manifest.Status == state.Running {
		f.JobStatus = s.ask.jobStatus(ctx, s.q, &o.manifest)
	}
}
