package keep

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/runner/checkpoint"
)

// maxReads is how many candidates are downloaded in search of a run's id.
const maxReads = 9

// search is one call of Find.
type search struct {
	*Finder
	q     Query
	left  time.Duration // for requests that look
	found *Found

	others []artifacts.Stored // of other runs, newest first
	runs   map[int64]artifacts.RunInfo
	passed passedOver
}

// looking makes requests within the time that is left for looking.
func (s *search) looking(ctx context.Context, do func(context.Context) error) error {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, s.left)
	defer cancel()
	err := do(limited)
	s.left = max(0, s.left-time.Since(began))
	return sorted(err)
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
	reads := len(s.found.Standing)
	for rest := s.others; reads < maxReads; {
		var group []candidate
		var err error
		if group, rest, err = s.nextGroup(ctx, rest); err != nil || len(group) == 0 {
			return err
		}
		reads += len(group)
		if done, err := s.try(ctx, group); done || err != nil {
			return err
		}
	}
	return nil
}

// lookHere lists what the present workflow run has, oldest first.
func (s *search) lookHere(ctx context.Context) error {
	if s.Service == nil {
		return nil
	}
	return s.looking(ctx, func(ctx context.Context) error {
		lists, err := ofEach(Names(s.q.Key), func(name string) ([]artifacts.Artifact, error) { return s.Service.List(ctx, name) })
		if err != nil {
			return err
		}
		s.found.Standing = slices.Concat(lists[:]...)
		slices.SortFunc(s.found.Standing, func(a, b artifacts.Artifact) int { return cmp.Compare(a.ID, b.ID) })
		return nil
	})
}

// here returns the candidates of the present workflow run, newest first.
func (s *search) here() []candidate {
	var list []candidate
	for _, a := range slices.Backward(s.found.Standing) {
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

// lookElsewhere lists what other workflow runs have, newest first.
func (s *search) lookElsewhere(ctx context.Context) error {
	if s.Archive == nil {
		return &NoAccess{}
	}
	return s.looking(ctx, func(ctx context.Context) error {
		lists, err := ofEach(Names(s.q.Key), func(name string) ([]artifacts.Stored, error) { return s.Archive.Find(ctx, name) })
		if err != nil {
			return err
		}
		for _, a := range slices.Concat(lists[:]...) {
			if !a.Expired && !s.isOwn(a) {
				s.others = append(s.others, a)
			}
		}
		slices.SortFunc(s.others, func(a, b artifacts.Stored) int { return cmp.Compare(b.ID, a.ID) })
		return s.learnWorkflow(ctx)
	})
}

// isOwn reports whether an artifact is of the present workflow run, whose results
// service was asked. Gitea's tells nothing of earlier attempts of the run.
func (s *search) isOwn(a artifacts.Stored) bool { return a.RunID == s.q.RunID && !s.q.Gitea }

// learnWorkflow asks for the own workflow file where the environment is silent.
func (s *search) learnWorkflow(ctx context.Context) error {
	if s.q.Workflow != "" || s.q.RunID == 0 || len(s.others) == 0 {
		return nil
	}
	own, err := s.run(ctx, s.q.RunID)
	s.q.Workflow = own.Path
	return err
}

// run asks for a workflow run once.
func (s *search) run(ctx context.Context, id int64) (artifacts.RunInfo, error) {
	if known, ok := s.runs[id]; ok {
		return known, nil
	}
	info, err := s.Archive.Run(ctx, id)
	if err == nil {
		s.runs[id] = info
	}
	return info, err
}

// nextGroup returns the next accepted candidate of a list, with those that are to
// be read together with it, and what is left of the list.
func (s *search) nextGroup(ctx context.Context, list []artifacts.Stored) (group []candidate, rest []artifacts.Stored, err error) {
	for i, a := range list {
		c, ok, err := s.accept(ctx, a)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			continue
		}
		rest = list[i+1:]
		if !s.q.SameIDs {
			return []candidate{c}, rest, nil
		}
		group = append(group, c)
		var others []artifacts.Stored
		for _, b := range rest {
			if b.RunID != a.RunID {
				others = append(others, b)
				continue
			}
			group = append(group, candidate{artifact: b.Artifact, stored: b, run: c.run})
		}
		return group, others, nil
	}
	return nil, nil, nil
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
	return true, nil
}

// wanted reports whether a checkpoint is of the run that is looked for.
func (s *search) wanted(m checkpoint.Manifest) bool {
	return s.q.Mode == Auto || s.q.Mode == Require || s.q.Mode == m.WorkflowID
}
