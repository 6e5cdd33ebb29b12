package slots

import (
	"cmp"
	"context"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts"
)

// list is what other workflow runs have under the three names of a key, as one list,
// the newest first. No more pages are asked for than are looked at.
type list struct {
	ask   *requests
	omit  func(artifacts.Stored) bool // what the list leaves out
	each  [3]pages
	read  []artifacts.Stored // so far
	taken map[int64]bool     // ids of those that were read together with an earlier one
}

// pages is the list of one name.
type pages struct {
	next artifacts.Pages
	rest []artifacts.Stored // of the page that was read last
	done bool
	err  error
}

func newList(ask *requests, names [3]string, omit func(artifacts.Stored) bool) *list {
	l := &list{ask: ask, omit: omit, taken: map[int64]bool{}}
	for i, name := range names {
		l.each[i].next = ask.archive.List(name)
	}
	return l
}

// at returns the artifact at a place of the list, and whether there is one.
func (l *list) at(ctx context.Context, place int) (artifacts.Stored, bool, error) {
	for place >= len(l.read) {
		a, more, err := l.pull(ctx)
		if err != nil || !more {
			return a, false, err
		}
		if !l.omit(a) {
			l.read = append(l.read, a)
		}
	}
	return l.read[place], true, nil
}

// pull takes the newest of what the three lists have left.
func (l *list) pull(ctx context.Context) (artifacts.Stored, bool, error) {
	for l.needsPage() {
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

// needsPage reports whether one of the lists has to be read further.
func (l *list) needsPage() bool {
	for i := range l.each {
		if len(l.each[i].rest) == 0 && !l.each[i].done {
			return true
		}
	}
	return false
}

// fill reads a page of each list that has nothing left, all at the same time.
func (l *list) fill(ctx context.Context) (struct{}, error) {
	var all sync.WaitGroup
	for i := range l.each {
		if p := &l.each[i]; len(p.rest) == 0 && !p.done {
			all.Go(func() {
				p.rest, p.err = p.next(ctx)
				p.done = p.rest == nil && p.err == nil
			})
		}
	}
	all.Wait()
	return struct{}{}, cmp.Or(l.each[0].err, l.each[1].err, l.each[2].err)
}
