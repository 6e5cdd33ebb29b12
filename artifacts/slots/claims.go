package slots

import (
	"context"
	"os"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// Claims returns the claims of a key in other workflow runs that come from where
// this workflow's own runs store theirs, and that are in progress. Where nobody
// can be asked there are none.
func (f *Finder) Claims(ctx context.Context, q Query) ([]Claim, error) {
	if f.Archive == nil {
		return nil, nil
	}
	s := newSearch(f, q)
	claims, err := s.claims(ctx)
	if err = s.ask.classify(ofLists, "", err); isNoAccess(err) {
		return nil, nil
	}
	return claims, err
}

func (s *search) claims(ctx context.Context) ([]Claim, error) {
	var claims []Claim
	for a, err := range s.ask.named(s.q.Job.RunID, s.q.place().ClaimName()).from(ctx) {
		if err != nil {
			return nil, err
		}
		claim, ok, err := s.claimOf(ctx, a)
		if err != nil {
			return nil, err
		}
		if ok {
			claims = append(claims, claim)
		}
	}
	return claims, nil
}

// claimOf returns the claim of an artifact of another workflow run, if that is one
// of ours and in progress.
func (s *search) claimOf(ctx context.Context, a artifacts.Stored) (claim Claim, ok bool, err error) {
	if a.Expired {
		return claim, false, nil
	}
	if err := s.learnWorkflow(ctx); err != nil {
		return claim, false, err
	}
	c, ok, err := s.accept(ctx, a)
	if err != nil || !ok || c.run.Status == completed {
		return claim, false, err
	}
	claim, err = fetchClaim(s.q.Temp, a.Artifact, func(f *os.File) (int64, error) { return s.ask.archive.Download(ctx, a, 2*maxClaim, f) })
	if forge.IsMissing(err) {
		return claim, false, nil // it was removed meanwhile
	}
	claim.RunURL = c.run.URL
	return claim, err == nil, err
}

// askFor is how long a job is asked about.
const askFor = 10 * time.Second

// Over reports whether the job that asks, which has made the claim, is over: its runner has died, and nothing else ends a
// process in a container. It is not where that can't be asked.
func (f *Finder) Over(ctx context.Context, mine Claim) bool {
	jobs, err := f.jobsOf(ctx, mine)
	return err == nil && isOver(jobs, mine)
}

// Ended reports whether the job of a claim is over; known is false where that can't
// be asked.
func (f *Finder) Ended(ctx context.Context, c Claim) (ended, known bool) {
	jobs, err := f.jobsOf(ctx, c)
	if err != nil {
		return false, false
	}
	status := statusOf(jobs, &checkpoint.Manifest{Job: c.Job, Runner: c.Runner, RunAttempt: c.Attempt})
	return status == completed, status != ""
}

// jobsOf returns the jobs of a claim's workflow run. Where nobody can be asked that is an error.
func (f *Finder) jobsOf(ctx context.Context, c Claim) ([]artifacts.JobInfo, error) {
	if f.Archive == nil {
		return nil, &NoAccess{}
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return f.Archive.Jobs(ctx, c.RunID)
}
