package slots

import (
	"context"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/state"
)

// PartFound is what is stored of a part of a matrix.
type PartFound struct {
	Part state.Part
	// All are its newest checkpoints, one of each workflow run that ran it, the newest
	// first; their folders are the caller's to remove. There is none when nothing is stored.
	All []*Found
	// Running says that a job may still be running it.
	Running bool
	// Notices are for people: what could not be had, and why.
	Notices []string
}

// PartsQuery says which parts of a run are looked for.
type PartsQuery struct {
	Query
	Base  *Found // the newest checkpoint of the run itself
	Parts []state.Part
	// Deadline is how long a job of the run may take; 0 where it has no limit.
	Deadline time.Duration
	Now      time.Time
}

// Parts finds what is stored of parts: in the present workflow run, and in that which
// stored the run's own checkpoint. Errors are those of Find. One that expired or was
// deleted counts as not stored.
func (f *Finder) Parts(ctx context.Context, q PartsQuery) ([]PartFound, error) {
	s := newSearch(f, q.Query)
	runs, err := s.withParts(ctx, q)
	if err != nil {
		return nil, err
	}
	var all []PartFound
	for _, p := range q.Parts {
		found := PartFound{Part: p}
		for _, run := range runs {
			if err := s.findPart(ctx, q, &found, Place{q.Key, p.Name}.of(run)); err != nil {
				for _, other := range append(all, found) {
					other.Remove()
				}
				return nil, err
			}
		}
		slices.SortStableFunc(found.All, func(a, b *Found) int { return b.Manifest.Created.Compare(a.Manifest.Created) })
		found.Running = q.mayRun(&found)
		all = append(all, found)
	}
	return all, nil
}

// HasParts reports whether anything is stored of the parts, and asks for no content. A
// service that can't be asked is an error, as for Parts.
func (f *Finder) HasParts(ctx context.Context, q PartsQuery) (bool, error) {
	if len(q.Parts) == 0 {
		return false, nil
	}
	runs, err := newSearch(f, q.Query).withParts(ctx, q)
	all := slices.Concat(runs...)
	return slices.ContainsFunc(q.Parts, func(p state.Part) bool { return len(Place{q.Key, p.Name}.of(all)) > 0 }), err
}

// Remove removes what was downloaded.
func (p *PartFound) Remove() {
	for _, f := range p.All {
		(&opened{dir: f.Dir}).remove()
	}
}

// withParts lists what each workflow run has that may have run parts, newest first.
func (s *search) withParts(ctx context.Context, q PartsQuery) (runs [][]candidate, err error) {
	here, err := s.allHere(ctx)
	if err != nil {
		return nil, err
	}
	runs = append(runs, here)
	if q.Base.InThisRun && !q.Origin.Gitea || q.Base.RunID == 0 {
		return runs, nil
	}
	there, err := s.allOf(ctx, artifacts.RunInfo{ID: q.Base.RunID, URL: q.Base.RunURL, Status: q.Base.RunStatus})
	if isNoAccess(err) && q.Base.InThisRun {
		return runs, nil // of Gitea, where earlier attempts are seen by the API alone
	}
	return append(runs, there), err
}

// of are those of some artifacts that are checkpoints of the place.
func (p Place) of(list []candidate) []candidate {
	names := p.Names()
	return slices.DeleteFunc(slices.Clone(list), func(c candidate) bool { return !slices.Contains(names[:], c.Name) })
}

// allHere lists what the present workflow run has.
func (s *search) allHere(ctx context.Context) (list []candidate, err error) {
	if s.ask.service == nil {
		return nil, nil
	}
	all, err := s.ask.all(ctx)
	for _, a := range all {
		list = append(list, s.ofThisRun(a))
	}
	return list, err
}

// allOf lists what a workflow run has whose origin is accepted.
func (s *search) allOf(ctx context.Context, run artifacts.RunInfo) (list []candidate, err error) {
	if s.ask.archive == nil {
		return nil, &NoAccess{}
	}
	for a, err := range newList(s.ask, 0, s.ask.archive.ListRun(run.ID)).from(ctx) {
		if err != nil {
			return list, err
		}
		if a.RunID == 0 || a.RunID == run.ID {
			list = append(list, candidate{Stored: a, run: run})
		}
	}
	return list, nil
}

// findPart reads the newest checkpoint of a part that a workflow run has.
func (s *search) findPart(ctx context.Context, q PartsQuery, to *PartFound, group []candidate) error {
	query, own := q.Query, *s
	query.Part, query.Mode = to.Part, q.Base.Manifest.WorkflowID
	own.q = &query
	best, _, err := own.newest(ctx, group)
	switch {
	case isGone(err):
		to.Notices = append(to.Notices, err.Error())
		return nil
	case err != nil || best == nil:
		return err
	}
	found := &Found{}
	own.describe(ctx, found, best)
	if found.InThisRun {
		for _, c := range slices.Backward(group) {
			found.Existing = append(found.Existing, c.Artifact)
		}
	}
	to.All = append(to.All, found)
	return nil
}

// mayRun reports whether a job may still be running a part. In the present workflow run
// the step that joins waits for the jobs of the matrix, so that they have ended unless the
// API says otherwise.
func (q *PartsQuery) mayRun(p *PartFound) bool {
	newest := q.Base.Manifest
	if len(p.All) > 0 {
		newest = p.All[0].Manifest
		if newest.Status != state.Running || newest.Ended {
			return false
		}
	}
	inThisRun, status := q.Base.InThisRun, q.Base.RunStatus
	if len(p.All) > 0 && p.All[0].InThisRun {
		inThisRun, status = true, p.All[0].JobStatus
	}
	if inThisRun {
		return len(p.All) > 0 && status != "" && status != completed
	}
	limit := withoutEnd
	if q.Deadline > 0 {
		limit = q.Deadline + afterDeadline
	}
	return status != completed && q.Now.Sub(newest.Created) < limit
}
