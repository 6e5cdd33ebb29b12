package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
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
	skipped  skipped
	others   *list                // artifacts of other workflow runs; nil before the first request
	existing []artifacts.Artifact // artifacts of this workflow run, oldest first
	// successor describes a run that has superseded the requested run; "" for none.
	successor string
}

func newSearch(f *Finder, q Query) *search {
	return &search{Finder: f, q: q, left: lookFor, runs: map[int64]artifacts.RunInfo{}, skipped: skipped{seen: map[int64]bool{}}}
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
			s.skipped.add(stored[0], group[0].run.URL, err.Error())
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

// list merges several lists of the API into one, newest first. It requests each page at most once,
// when it is needed.
type list struct {
	omit int64 // a workflow run whose artifacts are left out; 0 for none
	each []pages
	read []artifacts.RunArtifact // the artifacts that have been read
}

// pages is a list to be merged.
type pages struct {
	next artifacts.NextPage
	rest []artifacts.RunArtifact // the remaining artifacts of the last page
	done bool
	err  error
}

// isShort reports whether the next page has to be read.
func (p pages) isShort() bool { return len(p.rest) == 0 && !p.done }

// from iterates over a list. After an error it ends.
func (s *search) from(ctx context.Context, l *list) iter.Seq2[artifacts.RunArtifact, error] {
	return func(yield func(artifacts.RunArtifact, error) bool) {
		more, err := true, error(nil)
		for at := 0; more && err == nil; {
			if at == len(l.read) {
				more, err = s.pull(ctx, l)
			} else if at++; !yield(l.read[at-1], nil) {
				return
			}
		}
		if err != nil {
			yield(artifacts.RunArtifact{}, err)
		}
	}
}

// pull appends the next artifact of the merged lists to l.read. It reports whether there was one.
func (s *search) pull(ctx context.Context, l *list) (bool, error) {
	for slices.ContainsFunc(l.each, pages.isShort) {
		if _, err := within(ctx, s, l.fill); err != nil {
			return false, s.classify(ofLists, "", err)
		}
	}
	var newest *pages
	for i := range l.each {
		if p := &l.each[i]; len(p.rest) > 0 && (newest == nil || p.rest[0].ID > newest.rest[0].ID) {
			newest = p
		}
	}
	if newest == nil {
		return false, nil
	}
	if a := newest.rest[0]; l.omit == 0 || a.RunID != l.omit {
		l.read = append(l.read, a)
	}
	newest.rest = newest.rest[1:]
	return true, nil
}

// fill reads the next page of each list that has no artifacts left, in parallel.
func (l *list) fill(ctx context.Context) (struct{}, error) {
	var all sync.WaitGroup
	for i := range l.each {
		if p := &l.each[i]; p.isShort() {
			all.Go(func() {
				p.rest, p.err = p.next(ctx)
				p.done = p.rest == nil && p.err == nil
			})
		}
	}
	all.Wait()
	var err error
	for _, p := range l.each {
		err = cmp.Or(err, p.err)
	}
	return struct{}{}, err
}
