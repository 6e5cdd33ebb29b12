package slots

import (
	"context"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts"
)

// lists are those of a key's names as one, newest first. No more pages are asked
// for than are looked at.
type lists struct {
	search *search
	each   [3]feed
	read   []artifacts.Stored // so far, without those of the present workflow run
	taken  map[int64]bool     // those that were read together with an earlier one
}

// feed is the list of one name.
type feed struct {
	next artifacts.Pages
	rest []artifacts.Stored // of the page that was read last
	done bool
	err  error
}

func newLists(s *search, names [3]string) *lists {
	l := &lists{search: s, taken: map[int64]bool{}}
	for i, name := range names {
		l.each[i].next = s.Archive.List(name)
	}
	return l
}

// at returns the artifact at a place of the list, and whether there is one.
func (l *lists) at(ctx context.Context, place int) (artifacts.Stored, bool, error) {
	for place >= len(l.read) {
		a, more, err := l.pull(ctx)
		if err != nil || !more {
			return a, false, err
		}
		if !l.search.isOwn(a) {
			l.read = append(l.read, a)
		}
	}
	return l.read[place], true, nil
}

// pull takes the newest of what the lists have left.
func (l *lists) pull(ctx context.Context) (artifacts.Stored, bool, error) {
	for l.hungry() {
		if err := l.search.looking(ctx, l.fill); err != nil {
			return artifacts.Stored{}, false, l.search.sorted(forList, "", err)
		}
	}
	var newest *feed
	for i := range l.each {
		f := &l.each[i]
		if len(f.rest) > 0 && (newest == nil || f.rest[0].ID > newest.rest[0].ID) {
			newest = f
		}
	}
	if newest == nil {
		return artifacts.Stored{}, false, nil
	}
	a := newest.rest[0]
	newest.rest = newest.rest[1:]
	return a, true, nil
}

// hungry reports whether a list has to be read further.
func (l *lists) hungry() bool {
	for i := range l.each {
		if len(l.each[i].rest) == 0 && !l.each[i].done {
			return true
		}
	}
	return false
}

// fill reads a page of each list that has nothing left, all at the same time.
func (l *lists) fill(ctx context.Context) error {
	var all sync.WaitGroup
	for i := range l.each {
		if f := &l.each[i]; len(f.rest) == 0 && !f.done {
			all.Go(func() {
				f.rest, f.err = f.next(ctx)
				f.done = f.rest == nil && f.err == nil
			})
		}
	}
	all.Wait()
	for i := range l.each {
		if err := l.each[i].err; err != nil {
			return err
		}
	}
	return nil
}
