package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrTooLarge says that the work has more bytes than may be saved.
var ErrTooLarge = errors.New("the work is too large to be saved")

// ErrMoved says that HEAD or branches moved during each of three attempts.
var ErrMoved = errors.New("HEAD or branches moved during every attempt")

// errMovedNow says that they moved during one attempt.
var errMovedNow = errors.New("HEAD or branches moved")

const attempts = 3

// SaveRequest is what to save, and where to.
type SaveRequest struct {
	// Dirs are absolute. The first is the run's working directory, the others are
	// those of agents and of frames; one that does not exist is passed over.
	Dirs []string
	Base string // the commit that the job was checked out at, "" for unknown
	To   string // an existing, empty folder: the index and the bundles go there
	Last string // the folder of the save before, "" for none
}

// SaveResult is what was saved.
type SaveResult struct {
	Files []string // names in the folder, the index first; none when there was nothing to save
	// HasWork says that there was a commit, a change or an untracked file beyond the
	// commit of the checkout, or a worktree or repository beside that of the checkout.
	HasWork bool
	Notes   []string // what is not saved, for people
	// RequiredNames are those without which the save can't be restored: of the fields of its index,
	// its directories and its branches.
	RequiredNames []string
}

// Save writes the work in the git worktrees that the directories lie in. It writes
// nothing to the repositories and their worktrees. A repository that has not changed
// since the last save is taken from there. When no directory lies in a worktree,
// nothing is saved. The errors are ErrNoGit, ErrTooLarge and ErrMoved, wrapped, and
// those of git and of files; the folder may then hold anything.
func (g *Git) Save(ctx context.Context, s SaveRequest) (SaveResult, error) {
	t, err := g.open()
	if err != nil {
		return SaveResult{}, err
	}
	defer t.close()
	sources, notes, err := t.discover(ctx, s.Dirs)
	if err != nil || len(sources) == 0 {
		return SaveResult{Notes: notes}, err
	}
	notes = append(notes, t.besides(ctx, sources)...)
	w := &saver{git: t, SaveRequest: s, limit: g.limit(), unreliable: g.unreliableFor()}
	w.last, _ = readIndex(s.Last) // without one, everything is packed again
	for _, source := range sources {
		for _, wt := range source.trees {
			t.tops = append(t.tops, wt.Dir)
		}
	}
	saved, err := w.all(ctx, sources)
	saved.Notes = append(notes, saved.Notes...)
	return saved, err
}

// saver makes one save.
type saver struct {
	git *tool
	SaveRequest
	limit      int64 // bytes of bundles
	used       int64
	unreliable time.Duration
	last       index
	bundle     string // the name of the next one
}

func (w *saver) all(ctx context.Context, sources []*source) (SaveResult, error) {
	x := index{Schema: schema}
	saved := SaveResult{Files: []string{indexName}, RequiredNames: []string{"repositories", "branches", "operation"}}
	for i, s := range sources {
		w.bundle = fmt.Sprintf("repo-%d.bundle", i)
		var r *repository
		notes := s.notes
		err := steadily(func() (err error) {
			s.notes = slices.Clone(notes)
			r, err = w.once(ctx, s)
			return err
		})
		if err != nil {
			return SaveResult{}, fmt.Errorf("save %s: %w", s.top, err)
		}
		w.used += r.Size
		x.Repositories = append(x.Repositories, *r)
		saved.Files = append(saved.Files, r.Bundle)
		saved.HasWork = saved.HasWork || r.Held
		saved.Notes = append(saved.Notes, r.Notes...)
		for _, b := range r.Branches {
			saved.RequiredNames = append(saved.RequiredNames, b.Name)
		}
		for _, t := range r.Trees {
			saved.RequiredNames = append(saved.RequiredNames, t.Dir, t.Branch, t.Operation)
		}
	}
	return saved, writeIndex(w.To, x)
}

// steadily does something, again when files or branches moved meanwhile.
func steadily(do func() error) error {
	for range attempts {
		if err := do(); !errors.Is(err, errMovedNow) {
			return err
		}
	}
	return ErrMoved
}

// once saves a repository as it is at a moment, or takes it from the last save. If it moves meanwhile that is errMovedNow.
func (w *saver) once(ctx context.Context, s *source) (*repository, error) {
	before, err := w.git.refs(ctx, &s.place, s.trees...)
	if err != nil {
		return nil, err
	}
	if err := w.scan(ctx, s, before); err != nil {
		return nil, err
	}
	seen := w.seen(s, before)
	if r := w.reuse(s, seen); r != nil {
		return r, nil
	}
	r, err := w.pack(ctx, s, before)
	if ctx.Err() != nil || errors.Is(err, ErrTooLarge) {
		return nil, cmp.Or(err, ctx.Err())
	}
	after, readErr := w.git.refs(ctx, &s.place, s.trees...)
	switch {
	case readErr != nil:
		return nil, readErr
	case after.raw != before.raw:
		return nil, errMovedNow
	case err != nil:
		return nil, err
	}
	r.Seen = seen
	return r, nil
}

// scan finds what each worktree of a repository differs in from its commit.
func (w *saver) scan(ctx context.Context, s *source, at *refs) error {
	for _, wt := range s.trees {
		if err := w.git.look(ctx, wt); err != nil {
			return err
		}
		if err := w.noteSubmodules(ctx, s, wt); err != nil {
			return err
		}
		if wt.Operation != "" {
			s.note("%s: git %s is in progress; its commits and files are saved, but not git's record of it", wt.Dir, wt.Operation)
		}
	}
	if at.others > 0 {
		s.note("%s: branches with odd names are not saved (%d)", s.top, at.others)
	}
	return nil
}
