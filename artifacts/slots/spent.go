package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/state"
)

// spentPages is the maximum number of pages read from the list of all artifacts.
const spentPages = 20

// Spent is the cost of runs of this repository in a period.
type Spent struct {
	Key  state.USD // cost of runs of the key
	File state.USD // cost of runs of the workflow file
	// Minimum says, for users, why the real cost may be higher; "" if nothing was left out.
	Minimum string
}

// Spent adds up the spending that jobs have stored since the given time. Only artifacts of this
// repository's own workflow runs count. Spending of the key must also come from the own workflow
// file or one in resume-from. The query needs Key, Origin, Job and Act.
//
// Without access to the API, the result is the spending of the present workflow run, with a text in
// Spent.Minimum. A service that fails or does not answer is an *Unavailable.
func (f *Finder) Spent(ctx context.Context, q Query, since time.Time) (Spent, error) {
	s := &spending{search: newSearch(f, q), since: since}
	err := error(&NoAccess{})
	if f.Archive != nil {
		err = s.elsewhere(ctx)
	}
	if !isA[*NoAccess](err) {
		return s.sum, err
	}
	s.sum = Spent{}
	if f.Service == nil {
		s.sum.Minimum = "the spending of earlier jobs is unknown: " + reasonOf(err)
		return s.sum, nil
	}
	if !q.Act {
		s.sum.Minimum = "the spending of other workflow runs is unknown: " + reasonOf(err)
	}
	return s.sum, s.inThisRun(ctx)
}

// reasonOf returns why the API could not be used.
func reasonOf(err error) string { return strings.TrimPrefix(err.Error(), "look for a checkpoint: ") }

// spending is one call of Finder.Spent.
type spending struct {
	*search

	since time.Time
	sum   Spent
}

// elsewhere adds up the spending that all workflow runs have stored.
func (s *spending) elsewhere(ctx context.Context) error {
	if err := s.learnWorkflow(ctx); err != nil {
		return err
	}
	for a, err := range s.from(ctx, &list{each: []pages{{next: s.Archive.ListAll(spentPages)}}}) {
		if errors.Is(err, ErrListTooLong) {
			s.sum.Minimum = fmt.Sprintf("this repository has stored more artifacts in the last 24 hours than a step reads (%d pages), so older runs were not counted", spentPages)
			return nil
		}
		if err != nil {
			return err
		}
		if !a.Created.IsZero() && a.Created.Before(s.since) {
			return nil // all following artifacts are older
		}
		x, ok := parseSpent(a.Name)
		ofFile, ofKey := s.counts(x)
		if !ok || x.run != a.RunID || !ofFile && !ofKey {
			continue
		}
		isOwn, err := s.isOwn(ctx, a)
		if err != nil {
			return err
		}
		if isOwn {
			s.add(x)
		}
	}
	return nil
}

// counts reports whether a spending belongs to the workflow file, and whether it belongs to the key
// and to an accepted workflow file.
func (s *spending) counts(x spent) (ofFile, ofKey bool) {
	isAccepted := slices.ContainsFunc(s.q.Origin.files(), func(file string) bool { return hashOfFile(file) == x.file })
	return x.file == hashOfFile(s.q.Origin.Workflow), isAccepted && x.key == hashOf(s.q.Key)
}

func (s *spending) add(x spent) {
	ofFile, ofKey := s.counts(x)
	if ofFile {
		s.sum.File = s.sum.File.Plus(x.usd)
	}
	if ofKey {
		s.sum.Key = s.sum.Key.Plus(x.usd)
	}
}

// isOwn reports whether an artifact was stored by a workflow run of this repository's own code.
// Gitea's list does not contain this, so the run is requested there.
func (s *spending) isOwn(ctx context.Context, a artifacts.RunArtifact) (bool, error) {
	o := s.q.Origin
	o.Sealed = true // spending counts on every branch
	if o.foreignArtifact(a) != "" {
		return false, nil
	}
	if a.HeadRepository != 0 {
		return true, nil
	}
	info, err := s.run(ctx, a.RunID)
	if err != nil {
		err = s.classify(ofListed, a.Name, err)
		if isA[*Gone](err) {
			return false, nil // a deleted run takes its artifacts along
		}
		return false, err
	}
	return o.isHome(info.HeadRepository, cmp.Or(o.RepositoryID, a.Repository)) && info.HeadBranch != "" && !mayBeForks(info), nil
}

// inThisRun adds up the spending that the present workflow run has stored.
func (s *spending) inThisRun(ctx context.Context) error {
	list, err := s.stored(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		if x, ok := parseSpent(a.Name); ok && x.run == s.q.Job.RunID {
			s.add(x)
		}
	}
	return nil
}
