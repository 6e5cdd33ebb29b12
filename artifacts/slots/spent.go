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

// spentPages is how many pages of the list of all artifacts are read.
const spentPages = 20

// Spent is what the runs of this repository have cost in a time.
type Spent struct {
	Key  state.USD // those of the key
	File state.USD // those of the workflow file
	// Minimum says why it may have been more, for people; "" where nothing was left out.
	Minimum string
}

// Spent adds up what jobs have stored since a time, the newest first. Only artifacts of this
// repository's own workflow runs count, and those of a key that are of the own workflow file
// or of one in resume-from. Of the query Key, Origin, Job and Act are needed.
//
// Where nobody can be asked, it is what the present workflow run has spent, and
// Spent.Minimum says so. A service that fails, or does not answer, is an *Unavailable.
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
		s.sum.Minimum = "what earlier jobs have spent is not known: " + reasonOf(err)
		return s.sum, nil
	}
	if !q.Act {
		s.sum.Minimum = "what other workflow runs have spent is not known: " + reasonOf(err)
	}
	return s.sum, s.inThisRun(ctx)
}

// reasonOf says why nobody could be asked.
func reasonOf(err error) string { return strings.TrimPrefix(err.Error(), "look for a checkpoint: ") }

// spending is one call of Spent.
type spending struct {
	*search

	since time.Time
	sum   Spent
}

// elsewhere adds up what all workflow runs have stored.
func (s *spending) elsewhere(ctx context.Context) error {
	if err := s.learnWorkflow(ctx); err != nil {
		return err
	}
	for a, err := range s.from(ctx, &list{each: []pages{{next: s.Archive.ListAll(spentPages)}}}) {
		if errors.Is(err, ErrListTooLong) {
			s.sum.Minimum = fmt.Sprintf("the repository has stored more than %d pages of artifacts in this time, and the older ones were not read", spentPages)
			return nil
		}
		if err != nil {
			return err
		}
		if !a.Created.IsZero() && a.Created.Before(s.since) {
			return nil // the rest is older still
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

// counts reports whether a spending is of the workflow file, and whether it is of the key, and of a file whose runs may
// have that.
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

// isOwn reports whether an artifact was stored by a workflow run of this repository's own
// code. Gitea's list does not say that: then the run is asked for.
func (s *spending) isOwn(ctx context.Context, a artifacts.RunArtifact) (bool, error) {
	o := s.q.Origin
	o.Sealed = true // money is money, on every branch
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
			return false, nil // a run that was deleted takes its artifacts along
		}
		return false, err
	}
	return o.isHome(info.HeadRepository, cmp.Or(o.RepositoryID, a.Repository)) && info.HeadBranch != "" && !mayBeForks(info), nil
}

// inThisRun adds up what the present workflow run has stored.
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
