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
// are asked for than are looked at.
type list struct {
	ask  *requests
	omit int64 // a workflow run that is left out; 0 for none
	each []pages
	read []artifacts.Stored // so far
}

// pages is one of the lists.
type pages struct {
	next artifacts.Pages
	rest []artifacts.Stored // of the page that was read last
	done bool
	err  error
}

// isShort reports whether the list has to be read further.
func (p pages) isShort() bool { return len(p.rest) == 0 && !p.done }

func newList(ask *requests, omit int64, lists ...artifacts.Pages) *list {
	l := &list{ask: ask, omit: omit}
	for _, next := range lists {
		l.each = append(l.each, pages{next: next})
	}
	return l
}

// named lists what all workflow runs but one have under some names.
func (r *requests) named(omit int64, names ...string) *list {
	var lists []artifacts.Pages
	for _, name := range names {
		lists = append(lists, r.archive.List(name))
	}
	return newList(r, omit, lists...)
}

// from goes through the list. Nothing comes after an error.
func (l *list) from(ctx context.Context) iter.Seq2[artifacts.Stored, error] {
	return func(yield func(artifacts.Stored, error) bool) {
		for at := 0; ; at++ {
			a, more, err := l.at(ctx, at)
			if err == nil && !more || !yield(a, err) || err != nil {
				return
			}
		}
	}
}

// at returns the artifact at a place of the list, and whether there is one.
func (l *list) at(ctx context.Context, place int) (artifacts.Stored, bool, error) {
	for place >= len(l.read) {
		a, more, err := l.pull(ctx)
		if err != nil || !more {
			return a, false, err
		}
		if l.omit == 0 || a.RunID != l.omit {
			l.read = append(l.read, a)
		}
	}
	return l.read[place], true, nil
}

// pull takes the newest of what the lists have left.
func (l *list) pull(ctx context.Context) (artifacts.Stored, bool, error) {
	for slices.ContainsFunc(l.each, pages.isShort) {
		if _, err := within(ctx, l.ask, l.fill); err != nil {
			return artifacts.Stored{}, false, l.ask.classify(ofLists, "", err)
		}
	}
	var newest *pages
	for i := range l.each {
		p := &l.each[i]
		if len(p.rest) > 0 && (newest == nil || p.rest[0].ID > newest.rest[0].ID) {
			newest = p
		}
	}
	if newest == nil {
		return artifacts.Stored{}, false, nil
	}
	a := newest.rest[0]
	newest.rest = newest.rest[1:]
	return a, true, nil
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
