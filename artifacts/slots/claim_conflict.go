package slots

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// Claimer claims a key for a run. One goroutine at a time may use it.
type Claimer struct {
	Finder    *Finder // has the service that keeps the claim, and whom to ask of others
	Query     Query   // says where claims of the key are; its Mode and Read are not needed
	Mine      Claim
	Retention time.Duration
	// Alive asks a process of this machine whether it is there; known is false for
	// one of another machine.
	Alive func(Process) (alive, known bool)
	Sleep func(context.Context, time.Duration) error // as forge.Sleep

	stored artifacts.Artifact // the claim, as the service has it
}

// confirmDelay is how long after its store a claim is read back, where somebody who
// looked before it was there may have replaced it.
const confirmDelay = time.Second

// Take stores the claim. A *Conflict says that somebody else has the key; any
// other error is one of the service, which may be asked again later.
func (c *Claimer) Take(ctx context.Context) error {
	c.Mine.Schema = claimSchema
	if err := c.lookElsewhere(ctx); err != nil {
		return err
	}
	began := time.Now()
	replaced, err := c.clear(ctx)
	if err != nil {
		return err
	}
	if err := c.store(ctx, replaced); err != nil {
		// Where names are replaced, somebody who begins to store takes away what is being
		// stored: there is nothing to finish then.
		if errors.Is(err, artifacts.ErrExists) || c.Query.SameIDs && forge.IsMissing(err) {
			_, whose := c.clear(ctx)
			err = cmp.Or(whose, err)
		}
		return fmt.Errorf("store the claim: %w", err)
	}
	if replaced || c.Query.SameIDs {
		// Somebody who looked before this claim was there may take as long as this one did.
		if err := c.Sleep(ctx, min(confirmDelay+2*time.Since(began), 5*confirmDelay)); err != nil {
			return err
		}
	}
	return c.look(ctx)
}

// name is the name of the claim.
func (c *Claimer) name() string { return c.Query.place().ClaimName() }

// lookElsewhere looks at the claims of the key in other workflow runs that come from
// where this workflow's own runs store theirs. Where nobody can be asked there are none.
func (c *Claimer) lookElsewhere(ctx context.Context) error {
	s := newSearch(c.Finder, c.Query)
	for a, err := range s.elsewhere(ctx, c.name()) {
		if err == nil {
			err = c.lookAt(ctx, s, a)
		}
		if isA[*NoAccess](err) {
			return nil
		}
		if err != nil && !isA[*Gone](err) {
			return err
		}
	}
	return nil
}

// lookAt looks at a claim of another workflow run. It counts as long as that is in progress.
func (c *Claimer) lookAt(ctx context.Context, s *search, a artifacts.RunArtifact) error {
	if a.Expired {
		return nil
	}
	from, ok, err := s.accept(ctx, a)
	if err != nil || !ok || from.run.Status == completed {
		return err
	}
	other, err := c.fetch(a.Artifact, func(f *os.File) (int64, error) { return s.Archive.Download(ctx, a, 2*maxClaim, f) })
	if err != nil || c.hasEnded(ctx, other) {
		return s.classify(ofListed, from.name(), err)
	}
	other.RunURL = from.run.URL
	return other.conflict(a.Name, 0)
}

// found is a claim that is stored under the name.
type found struct {
	artifacts.Artifact
	claim Claim
}

// there returns what is stored under the name, as far as it is claims. One that was removed
// meanwhile is none.
func (c *Claimer) there(ctx context.Context) (all []found, err error) {
	list, err := c.Finder.Service.List(ctx, c.name())
	if err != nil {
		return nil, fmt.Errorf("look for a claim: %w", err)
	}
	for _, a := range list {
		f, failed := found{a, c.Mine}, error(nil)
		if isMine := a.ID == c.stored.ID && a.Digest != "" && a.Digest == c.stored.Digest; !isMine {
			f.claim, failed = c.fetch(a, func(f *os.File) (int64, error) { return c.Finder.Service.Download(ctx, a, 2*maxClaim, f) })
		}
		switch {
		case failed == nil:
			all = append(all, f)
		case !forge.IsMissing(failed):
			err = cmp.Or(err, failed)
		}
	}
	return all, err
}

// remove removes a claim that may be gone already.
func (c *Claimer) remove(ctx context.Context, f found) error {
	if err := c.Finder.Service.Delete(ctx, f.Artifact); err != nil && !forge.IsMissing(err) {
		return fmt.Errorf("remove a claim: %w", err)
	}
	return nil
}

// clear looks at what is stored under the name, and removes claims that no longer
// count.
func (c *Claimer) clear(ctx context.Context) (replaced bool, err error) {
	all, err := c.there(ctx)
	if err != nil {
		return false, err
	}
	for _, f := range all {
		if f.claim.ID != c.Mine.ID && !c.hasEnded(ctx, f.claim) {
			return false, f.claim.conflict(f.Name, f.ID)
		}
		if err := c.remove(ctx, f); err != nil {
			return false, err
		}
	}
	return len(all) > 0, nil
}

// store stores the claim, under a name that may have been freed by a delete.
func (c *Claimer) store(ctx context.Context, isFreed bool) error {
	data, err := packed(claimFile, c.Mine)
	if err != nil {
		return err
	}
	n := artifacts.NewArtifact{Name: c.name(), Content: bytes.NewReader(data), Size: int64(len(data)), NameFreed: isFreed}
	if c.Retention > 0 {
		n.Expires = time.Now().Add(c.Retention)
	}
	c.stored, err = c.Finder.Service.Upload(ctx, n)
	return err
}

// errClaimGone says that the claim isn't there although it was stored.
var errClaimGone = errors.New("the claim is gone: somebody replaced another one at the same time")

// Check reads the claim back: a *Conflict says that the key is somebody else's by
// now, or that the job is over, since its runner has died and nothing else ends a
// process in a container; and then somebody else may have it at any time.
func (c *Claimer) Check(ctx context.Context) error {
	if err := c.look(ctx); err != nil {
		return err
	}
	if jobs, err := c.jobsOf(ctx, c.Mine); err != nil || !isOver(jobs, c.Mine) {
		return nil
	}
	return &Conflict{Name: c.name(), ID: c.stored.ID,
		What: fmt.Sprintf("job %q is over, and this process of it, which its runner has left alive, stores nothing more", c.Mine.Job)}
}

func (c *Claimer) look(ctx context.Context) error {
	all, err := c.there(ctx)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return errClaimGone
	case all[0].claim.ID != c.Mine.ID:
		return all[0].claim.conflict(all[0].Name, all[0].ID)
	}
	return nil
}

// Release removes the claim, and no other.
func (c *Claimer) Release(ctx context.Context) error {
	all, err := c.there(ctx)
	for _, f := range all {
		if f.claim.ID == c.Mine.ID {
			err = errors.Join(err, c.remove(ctx, f))
		}
	}
	return err
}

// fetch downloads a claim and reads it. What is none of this action is a *Conflict.
func (c *Claimer) fetch(a artifacts.Artifact, download func(*os.File) (int64, error)) (Claim, error) {
	f, err := os.CreateTemp(c.Query.Temp, "claim-*.zip")
	if err != nil {
		return Claim{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var claim Claim
	size, err := download(f)
	if err == nil {
		claim, err = unpackClaim(f, size)
	}
	switch {
	case err == nil:
		return claim, nil
	case errors.Is(err, errNoClaim), errors.Is(err, artifacts.ErrTooLarge):
		return Claim{}, &Conflict{Name: a.Name, ID: a.ID, What: "it is no claim of this action; " + ownKeys}
	}
	return Claim{}, fmt.Errorf("fetch a claim: %w", err)
}

// hasEnded reports whether a claim no longer counts, since its holder has ended.
func (c *Claimer) hasEnded(ctx context.Context, other Claim) bool {
	if alive, known := c.Alive(other.Process); known {
		return !alive
	}
	if other.RunID == c.Mine.RunID && (other.Attempt < c.Mine.Attempt || other.Holder == c.Mine.Holder) {
		return true // an earlier attempt's, or an earlier step's of this job
	}
	if jobs, err := c.jobsOf(ctx, other); err == nil {
		if status := statusOf(jobs, Job{Attempt: other.Attempt, ID: other.Job, Runner: other.Runner}); status != "" {
			return status == completed
		}
	}
	if other.Deadline.IsZero() {
		return time.Now().After(other.Created.Add(withoutEnd))
	}
	return time.Now().After(other.Deadline.Add(afterDeadline))
}

// askFor is how long a job is asked about.
const askFor = 10 * time.Second

// jobsOf returns the jobs of a claim's workflow run. Where nobody can be asked that is an error.
func (c *Claimer) jobsOf(ctx context.Context, of Claim) ([]artifacts.JobInfo, error) {
	if c.Finder.Archive == nil {
		return nil, &NoAccess{}
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return c.Finder.Archive.Jobs(ctx, of.RunID)
}
