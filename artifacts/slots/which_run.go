package slots

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/state"
)

// maxReads is the maximum number of candidates that are downloaded when looking for a run by its
// id.
const maxReads = 9

// search is one call of a Finder.
type search struct {
	*Finder

	q        Query
	left     time.Duration // remaining time for all requests except downloads
	runs     map[int64]artifacts.RunInfo
	passed   passedOver
	others   *list                // artifacts of other workflow runs; nil before the first request
	existing []artifacts.Artifact // artifacts of this workflow run, oldest first
	// successor describes a run that has superseded the requested run; "" for none.
	successor string
}

func newSearch(f *Finder, q Query) *search {
	return &search{Finder: f, q: q, left: lookFor, runs: map[int64]artifacts.RunInfo{}, passed: passedOver{seen: map[int64]bool{}}}
}

// find returns the newest checkpoint, from this workflow run or else from others, or nil.
func (s *search) find(ctx context.Context) (*Found, error) {
	here, err := s.here(ctx)
	if err != nil {
		return nil, err
	}
	here = s.q.place().of(here)
	chosen, err := s.newest(ctx, here)
	s.existing = existing(here)
	if err == nil && chosen == nil {
		chosen, err = s.findElsewhere(ctx, len(here))
	}
	if err != nil || chosen == nil {
		return nil, err
	}
	newest, err := s.newestOfRun(ctx, chosen)
	if err != nil {
		return nil, err
	}
	newest.OlderHere, newest.SupersededBy = chosen.InThisRun && !newest.InThisRun, s.successor
	s.askJob(ctx, newest)
	return newest, nil
}

// findElsewhere tries the candidates of other workflow runs, newest first: separately or, if only
// manifests identify the newest of a workflow run, all of its candidates together. A search for an
// id continues after a checkpoint that is gone, because that may have belonged to another run.
func (s *search) findElsewhere(ctx context.Context, reads int) (*Found, error) {
	var gone error // the error for the newest unreadable candidate
	names := s.q.place().Names()
	taken := map[int64]bool{}
	for a, err := range s.elsewhere(ctx, names[:]...) {
		if err == nil && taken[a.RunID] {
			continue
		}
		var group []candidate
		if err == nil {
			group, err = s.screen(ctx, a)
			taken[a.RunID] = s.q.SameIDs
		}
		var best *Found
		if err == nil {
			best, err = s.newest(ctx, group)
		}
		switch {
		case isA[*Gone](err) && s.q.byID():
			gone = cmp.Or(gone, err)
		case err != nil || best != nil:
			return best, err
		}
		if reads += len(group); reads >= maxReads {
			break
		}
	}
	return nil, gone
}

// here lists the artifacts of the present workflow run, newest first. Gitea's results service does
// not list artifacts of earlier attempts, but its API does.
func (s *search) here(ctx context.Context) (list []candidate, err error) {
	own := artifacts.RunInfo{ID: s.q.Job.RunID}
	known := map[int64]bool{}
	if s.Service != nil {
		stored, err := s.stored(ctx)
		if err != nil {
			return nil, err
		}
		for _, a := range stored {
			known[a.ID] = true
			list = append(list, candidate{RunArtifact: artifacts.RunArtifact{Artifact: a}, run: own, here: true})
		}
	}
	if !s.q.Origin.Gitea || s.Archive == nil {
		return list, nil
	}
	all, err := s.allOf(ctx, own)
	if isA[*NoAccess](err) {
		return list, nil
	}
	return append(list, slices.DeleteFunc(all, func(c candidate) bool { return known[c.ID] })...), err
}

// existing returns the candidates that the results service of the present workflow run has listed.
// The argument is ordered newest first, the result oldest first.
func existing(list []candidate) (all []artifacts.Artifact) {
	for _, c := range slices.Backward(list) {
		if c.here {
			all = append(all, c.Artifact)
		}
	}
	return all
}

// elsewhere iterates over artifacts of other workflow runs with the given names, newest first. The
// names must be the same in every call.
func (s *search) elsewhere(ctx context.Context, names ...string) iter.Seq2[artifacts.RunArtifact, error] {
	if s.Archive == nil {
		return func(yield func(artifacts.RunArtifact, error) bool) { yield(artifacts.RunArtifact{}, &NoAccess{}) }
	}
	if s.others == nil {
		s.others = &list{omit: s.q.Job.RunID}
		for _, name := range names {
			s.others.each = append(s.others.each, pages{next: s.Archive.List(name)})
		}
	}
	return s.from(ctx, s.others)
}

// allOf lists the artifacts of a workflow run whose origin is accepted.
func (s *search) allOf(ctx context.Context, run artifacts.RunInfo) (all []candidate, err error) {
	if s.Archive == nil {
		return nil, &NoAccess{}
	}
	for a, err := range s.from(ctx, &list{each: []pages{{next: s.Archive.ListRun(run.ID)}}}) {
		if err != nil {
			return all, err
		}
		if a.RunID == 0 || a.RunID == run.ID {
			all = append(all, candidate{RunArtifact: a, run: run})
		}
	}
	return all, nil
}

// screen checks where an artifact comes from, and returns nothing if it is skipped. If only
// manifests tell the newest artifact of its workflow run, it returns all artifacts of that run.
func (s *search) screen(ctx context.Context, a artifacts.RunArtifact) ([]candidate, error) {
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

// askJob sets JobStatus in f, with the status of the job that stored the checkpoint.
func (s *search) askJob(ctx context.Context, f *Found) {
	if f.InThisRun && f.Manifest.Status == state.Running {
		f.JobStatus = s.jobStatus(ctx, f.Manifest)
	}
}
