package slots

import (
	"context"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/state"
)

// PartFound has the stored checkpoints of a part of a matrix.
type PartFound struct {
	Part state.Part
	// All has the newest checkpoint of each workflow run that ran the part, newest first. The
	// caller removes their directories. It is empty without checkpoints.
	All []*Found
	// Running is set if a job may still be running the part.
	Running bool
	// Notices say, for users, which checkpoints could not be read and why.
	Notices []string
}

// PartsQuery selects parts of a run.
type PartsQuery struct {
	Query
	Base  *Found // the newest checkpoint of the run itself
	Parts []state.Part
	// Deadline is the time limit for a job of the run; 0 for none.
	Deadline time.Duration
	Now      time.Time
}

// Parts finds the checkpoints of parts in the present workflow run, and in the workflow run of the
// base. It returns the same errors as Find. A checkpoint that has expired or was deleted counts as
// not stored.
func (f *Finder) Parts(ctx context.Context, q PartsQuery) (all []PartFound, err error) {
	s := newSearch(f, q.Query)
	s.q.Mode = q.Base.Manifest.WorkflowID
	runs, err := s.withParts(ctx, q.Base)
	for _, p := range q.Parts {
		if err != nil {
			break
		}
		s.q.Part = p
		found := PartFound{Part: p}
		err = s.findPart(ctx, &found, runs)
		found.Running = q.mayRun(&found)
		all = append(all, found)
	}
	if err != nil {
		for _, p := range all {
			p.Remove()
		}
		return nil, err
	}
	return all, nil
}

// HasParts reports whether anything is stored of the parts, without downloads. It returns the same
// errors as Parts.
func (f *Finder) HasParts(ctx context.Context, q PartsQuery) (bool, error) {
	runs, err := newSearch(f, q.Query).withParts(ctx, q.Base)
	all := slices.Concat(runs...)
	return slices.ContainsFunc(q.Parts, func(p state.Part) bool { return len(Place{q.Key, p.Name}.of(all)) > 0 }), err
}

// Remove removes the downloaded files.
func (p *PartFound) Remove() {
	for _, f := range p.All {
		f.Remove()
	}
}

// withParts lists the artifacts of each workflow run that may have run parts, newest first.
func (s *search) withParts(ctx context.Context, base *Found) (runs [][]candidate, err error) {
	here, err := s.here(ctx)
	if err != nil || base.InThisRun || base.RunID == 0 {
		return [][]candidate{here}, err
	}
	there, err := s.allOf(ctx, artifacts.RunInfo{ID: base.RunID, URL: base.RunURL, Status: base.RunStatus})
	return [][]candidate{here, there}, err
}

// of returns the artifacts that are checkpoints of the place.
func (p Place) of(list []candidate) []candidate {
	names := p.Names()
	return slices.DeleteFunc(slices.Clone(list), func(c candidate) bool { return !slices.Contains(names[:], c.Name) })
}

// findPart reads the newest checkpoint of a part in each workflow run.
func (s *search) findPart(ctx context.Context, to *PartFound, runs [][]candidate) error {
	for _, run := range runs {
		group := s.q.place().of(run)
		newest, err := s.newest(ctx, group)
		switch {
		case isA[*Gone](err):
			to.Notices = append(to.Notices, err.Error())
		case err != nil:
			return err
		case newest != nil:
			s.askJob(ctx, newest)
			newest.Existing = existing(group)
			to.All = append(to.All, newest)
		}
	}
	slices.SortStableFunc(to.All, func(a, b *Found) int { return b.Manifest.Created.Compare(a.Manifest.Created) })
	return nil
}

// mayRun reports whether a job may still be running a part. In the present workflow run, the step
// that joins runs after the jobs of the matrix, so they have ended unless the API says otherwise.
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
