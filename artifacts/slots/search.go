package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// maxReads is how many candidates are downloaded in search of a run's id.
const maxReads = 9

// search is one call of Find.
type search struct {
	*Finder
	q     Query
	left  time.Duration // for requests that look
	found *Found

	others *lists // of other runs, newest first; nil before they are asked for
	runs   map[int64]artifacts.RunInfo
	passed passedOver
	gone   error // why the newest candidate of another run could not be read; nil if it could
}

func newSearch(f *Finder, q Query) *search {
	return &search{Finder: f, q: q, left: lookFor, found: &Found{}, runs: map[int64]artifacts.RunInfo{}}
}

// looking makes requests at the same time, each tried for a minute at most, within
// the time that is left for looking.
func (s *search) looking(ctx context.Context, do func(context.Context) error) error {
	began, limit := time.Now(), min(requestFor, s.left)
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer that is of use came within %v", limit))
	defer cancel()
	err := do(limited)
	s.left = max(0, s.left-time.Since(began))
	return err
}

// find fills in what is found.
func (s *search) find(ctx context.Context) error {
	if err := s.lookHere(ctx); err != nil {
		return err
	}
	for _, group := range s.groups(s.here()) {
		if done, err := s.try(ctx, group); done || err != nil {
			return err
		}
	}
	if err := s.lookElsewhere(ctx); err != nil {
		return err
	}
	for at, reads := 0, len(s.found.Existing); reads < maxReads; {
		group, err := s.nextGroup(ctx, &at)
		done := err == nil && len(group) == 0
		if len(group) > 0 {
			reads += len(group)
			done, err = s.try(ctx, group)
		}
		switch {
		case s.mayBeAnother(err):
			s.gone = cmp.Or(s.gone, err)
		case err != nil:
			return err
		case s.found.Manifest != nil:
			return nil
		case done:
			return s.gone
		}
	}
	return s.gone
}

// mayBeAnother reports whether an error is about a checkpoint that is there no
// more, while one by its id is looked for: it may have been another run's.
func (s *search) mayBeAnother(err error) bool {
	var gone *Gone
	return errors.As(err, &gone) && s.q.Mode != Auto && s.q.Mode != Require
}

// lookHere lists what the present workflow run has, oldest first.
func (s *search) lookHere(ctx context.Context) error {
	if s.Service == nil {
		return nil
	}
	return s.looking(ctx, func(ctx context.Context) error {
		answers, err := ofEach(Names(s.q.Key), func(name string) ([]artifacts.Artifact, error) { return s.Service.List(ctx, name) })
		if err != nil {
			return s.sorted(forHere, "", err)
		}
		s.found.Existing = slices.Concat(answers[:]...)
		slices.SortFunc(s.found.Existing, func(a, b artifacts.Artifact) int { return cmp.Compare(a.ID, b.ID) })
		return nil
	})
}

// here returns the candidates of the present workflow run, newest first.
func (s *search) here() []candidate {
	var list []candidate
	for _, a := range slices.Backward(s.found.Existing) {
		list = append(list, candidate{artifact: a, run: artifacts.RunInfo{ID: s.q.RunID}, here: true})
	}
	return list
}

// groups puts together the candidates of which only their manifests tell the
// newest. Each of the others is alone.
func (s *search) groups(list []candidate) [][]candidate {
	if s.q.SameIDs && len(list) > 0 {
		return [][]candidate{list}
	}
	return slices.Collect(slices.Chunk(list, 1))
}

// lookElsewhere begins to list what other workflow runs have.
func (s *search) lookElsewhere(ctx context.Context) error {
	if s.Archive == nil {
		return &NoAccess{}
	}
	if s.others != nil {
		return nil
	}
	s.others = newLists(s, Names(s.q.Key))
	_, more, err := s.others.at(ctx, 0)
	if err != nil || !more || s.q.Workflow != "" || s.q.RunID == 0 {
		return err
	}
	// The environment does not tell the own workflow file.
	own, err := s.run(ctx, s.q.RunID)
	s.q.Workflow = own.Path
	return s.sorted(forList, "", err)
}

// isOwn reports whether an artifact is of the present workflow run, whose results
// service was asked. Gitea's tells nothing of earlier attempts of the run.
func (s *search) isOwn(a artifacts.Stored) bool { return a.RunID == s.q.RunID && !s.q.Gitea }

// run asks for a workflow run once.
func (s *search) run(ctx context.Context, id int64) (artifacts.RunInfo, error) {
	if known, ok := s.runs[id]; ok {
		return known, nil
	}
	var info artifacts.RunInfo
	err := s.looking(ctx, func(ctx context.Context) (err error) {
		info, err = s.Archive.Run(ctx, id)
		return err
	})
	if err == nil {
		s.runs[id] = info
	}
	return info, err
}

// near is how far after a candidate others of its workflow run are looked for that
// are to be read together with it.
const near = 300

// nextGroup returns the next accepted candidate from a place of the list on, with
// those that are to be read together with it, and moves the place.
func (s *search) nextGroup(ctx context.Context, at *int) ([]candidate, error) {
	for {
		a, more, err := s.others.at(ctx, *at)
		if err != nil || !more {
			return nil, err
		}
		*at++
		if s.others.taken[a.ID] {
			continue
		}
		c, ok, err := s.accept(ctx, a)
		if err != nil {
			return nil, err
		}
		if ok {
			return s.together(ctx, c, *at)
		}
	}
}

// together adds the others of a candidate's workflow run where only manifests tell
// the newest of them.
func (s *search) together(ctx context.Context, c candidate, at int) ([]candidate, error) {
	group := []candidate{c}
	if !s.q.SameIDs {
		return group, nil
	}
	for i := at; i < at+near; i++ {
		b, more, err := s.others.at(ctx, i)
		if errors.Is(err, ErrListTooLong) || err == nil && !more {
			break
		}
		if err != nil {
			return nil, err
		}
		if b.RunID == c.run.ID {
			s.others.taken[b.ID] = true
			group = append(group, candidate{artifact: b.Artifact, stored: b, run: c.run})
		}
	}
	return group, nil
}

// try reads a group of candidates and reports whether the search is over.
func (s *search) try(ctx context.Context, group []candidate) (bool, error) {
	best, err := s.readNewest(ctx, group)
	if err != nil || best == nil {
		return false, err
	}
	if err := s.rivals(ctx, best); err != nil {
		best.remove()
		return false, err
	}
	s.found.Manifest, s.found.Digest, s.found.Dir = &best.manifest, best.digest, best.dir
	s.found.Artifact, s.found.InThisRun = best.artifact, best.run.ID == s.q.RunID
	s.found.RunID, s.found.RunURL, s.found.RunStatus = best.run.ID, best.run.URL, best.run.Status
	if s.found.InThisRun && best.manifest.Status == state.Running {
		s.found.JobStatus = s.jobStatus(ctx, &best.manifest)
	}
	return true, nil
}

// wanted reports whether a checkpoint is of the run that is looked for.
func (s *search) wanted(m checkpoint.Manifest) bool {
	return s.q.Mode == Auto || s.q.Mode == Require || s.q.Mode == m.WorkflowID
}
