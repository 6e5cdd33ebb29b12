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

// PartsQuery selects the workflow runs that may have run parts of a run.
type PartsQuery struct {
	Query
	Base *Found // the newest checkpoint of the run itself
	// Deadline is the time limit for a job of the run; 0 for none.
	Deadline time.Duration
	Now      time.Time
}

// PartsList lists what jobs have stored for parts of a run.
type PartsList struct {
	q    PartsQuery
	s    *search
	runs [][]candidate // the artifacts of each workflow run that may have run parts, newest first
}

// ListParts lists the artifacts of the present workflow run, and of the workflow run of the base. It
// downloads nothing. It returns the same errors as Find.
func (f *Finder) ListParts(ctx context.Context, q PartsQuery) (*PartsList, error) {
	s := newSearch(f, q.Query)
	s.q.Mode = q.Base.Manifest.WorkflowID
	here, err := s.here(ctx)
	l := &PartsList{q: q, s: s, runs: [][]candidate{here}}
	if err != nil || q.Base.InThisRun || q.Base.RunID == 0 {
		return l, err
	}
	there, err := s.allOf(ctx, artifacts.RunInfo{ID: q.Base.RunID, URL: q.Base.RunURL, Status: q.Base.RunStatus})
	l.runs = append(l.runs, there)
	return l, err
}

// Has reports whether anything is stored of a part.
func (l *PartsList) Has(p state.Part) bool {
	return slices.ContainsFunc(l.runs, func(run []candidate) bool { return len(Place{l.q.Key, p.Name}.of(run)) > 0 })
}

// Read downloads the newest checkpoint of a part from each workflow run. A checkpoint that has
// expired or was deleted counts as not stored. It returns the same errors as Find.
func (l *PartsList) Read(ctx context.Context, p state.Part) (PartFound, error) {
	l.s.q.Part = p
	found := PartFound{Part: p}
	if err := l.s.findPart(ctx, &found, l.runs); err != nil {
		found.Remove()
		return PartFound{Part: p}, err
	}
	found.Running = l.q.mayRun(&found)
	return found, nil
}

// Remove removes the downloaded files.
func (p *PartFound) Remove() {
	for _, f := range p.All {
		f.Remove()
	}
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
