package slots

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts"
)

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
