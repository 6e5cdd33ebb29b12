package slots

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts"
)

// list is what the API has in some of its lists, as one, the newest first. No more pages
// are asked for than are looked at, and none twice.
type list struct {
	omit int64 // a workflow run that is left out; 0 for none
	each []pages
	read []artifacts.RunArtifact // so far
}

// pages is one of the lists.
type pages struct {
	next artifacts.NextPage
	rest []artifacts.RunArtifact // of the page that was read last
	done bool
	err  error
}

// isShort reports whether the list has to be read further.
func (p pages) isShort() bool { return len(p.rest) == 0 && !p.done }

// from goes through a list. Nothing comes after an error.
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

// pull reads the newest of what the lists have left, and reports whether there was any.
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

// fill reads a page of each list that has nothing left, all at the same time.
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
