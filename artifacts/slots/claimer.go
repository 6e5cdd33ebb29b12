package slots

import (
	"bytes"
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
	Service   Service
	Mine      Claim
	Temp      string // folder for what is downloaded
	Retention time.Duration
	// Replaces says that the service silently replaces what is stored under a name, as
	// Gitea and act do: then two that claim at once have to look again.
	Replaces bool
	// Elsewhere returns the claims of this key in other workflow runs that are in
	// progress; nil where nobody can be asked.
	Elsewhere func(context.Context) ([]Claim, error)
	// Alive asks a process of this machine whether it is there; known is false for
	// one of another machine.
	Alive func(Process) (alive, known bool)
	// Ended asks whether the job of a claim is over; known is false where it can't be
	// had.
	Ended func(context.Context, Claim) (ended, known bool)
	// Over asks whether the job of Mine is over; nil where nobody can be asked.
	Over  func(context.Context, Claim) bool
	Sleep func(context.Context, time.Duration) error // nil for forge.Sleep

	stored artifacts.Artifact // the claim, as the service has it
}

// confirmDelay is how long after its store a claim is read back, where somebody who
// looked before it was there may have replaced it.
const confirmDelay = time.Second

// contentionPauses are the pauses after which a key is claimed again whose name was
// taken meanwhile.
var contentionPauses = []time.Duration{2 * time.Second, 4 * time.Second}

func (c *Claimer) sleep(ctx context.Context, d time.Duration) error {
	if c.Sleep == nil {
		return forge.Sleep(ctx, d)
	}
	return c.Sleep(ctx, d)
}

// Take stores the claim. A *Conflict says that somebody else has the key; any
// other error is one of the service.
func (c *Claimer) Take(ctx context.Context) error {
	c.Mine.Schema = claimSchema
	if err := c.lookElsewhere(ctx); err != nil {
		return err
	}
	for n := 0; ; n++ {
		began := time.Now()
		replaced, err := c.clear(ctx)
		if err != nil {
			return err
		}
		err = c.store(ctx)
		// Where names are replaced, somebody who begins to store takes away what is being
		// stored: there is nothing to finish then.
		contended := errors.Is(err, artifacts.ErrExists) || c.Replaces && forge.IsMissing(err)
		if contended && n < len(contentionPauses) {
			if err := c.sleep(ctx, contentionPauses[n]); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("store the claim: %w", err)
		}
		if replaced || c.Replaces {
			// Somebody who looked before this claim was there may take as long as this one did.
			if err := c.sleep(ctx, min(confirmDelay+2*time.Since(began), 5*confirmDelay)); err != nil {
				return err
			}
		}
		return c.look(ctx)
	}
}

// lookElsewhere looks at the claims of other workflow runs.
func (c *Claimer) lookElsewhere(ctx context.Context) error {
	if c.Elsewhere == nil {
		return nil
	}
	others, err := c.Elsewhere(ctx)
	if err != nil {
		return err
	}
	for _, other := range others {
		if !c.hasEnded(ctx, other) {
			return other.conflict(c.Mine.place().ClaimName(), 0)
		}
	}
	return nil
}

// clear looks at what is stored under the name, and removes claims that no longer
// count.
func (c *Claimer) clear(ctx context.Context) (replaced bool, err error) {
	list, err := c.Service.List(ctx, c.Mine.place().ClaimName())
	if err != nil {
		return false, fmt.Errorf("look for a claim: %w", err)
	}
	for _, a := range list {
		other, err := c.read(ctx, a)
		if forge.IsMissing(err) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return false, err
		}
		if other.ID != c.Mine.ID && !c.hasEnded(ctx, other) {
			return false, other.conflict(a.Name, a.ID)
		}
		if err := c.Service.Delete(ctx, a); err != nil && !forge.IsMissing(err) {
			return false, fmt.Errorf("replace a claim: %w", err)
		}
		replaced = true
	}
	return replaced, nil
}

func (c *Claimer) store(ctx context.Context) error {
	data, err := packed(claimFile, c.Mine)
	if err != nil {
		return err
	}
	n := artifacts.New{Name: c.Mine.place().ClaimName(), Content: bytes.NewReader(data), Size: int64(len(data))}
	if c.Retention > 0 {
		n.Expires = time.Now().Add(c.Retention)
	}
	c.stored, err = c.Service.Upload(ctx, n)
	return err
}

// errClaimGone says that the claim isn't there although it was stored.
var errClaimGone = errors.New("the claim is gone: somebody replaced another one at the same time")

// Check reads the claim back: a *Conflict says that the key is somebody else's by
// now, or that the job is over, and then somebody else may have it at any time.
func (c *Claimer) Check(ctx context.Context) error {
	if err := c.look(ctx); err != nil || c.Over == nil || !c.Over(ctx, c.Mine) {
		return err
	}
	return &Conflict{Name: c.Mine.place().ClaimName(), ID: c.stored.ID,
		What: fmt.Sprintf("job %q is over, and this process of it, which its runner has left alive, stores nothing more", c.Mine.Job)}
}

func (c *Claimer) look(ctx context.Context) error {
	list, err := c.Service.List(ctx, c.Mine.place().ClaimName())
	if err != nil {
		return fmt.Errorf("look at the claim: %w", err)
	}
	for _, a := range list {
		if a.ID == c.stored.ID && a.Digest != "" && a.Digest == c.stored.Digest {
			return nil
		}
		other, err := c.read(ctx, a)
		switch {
		case forge.IsMissing(err):
			continue
		case err != nil:
			return err
		case other.ID == c.Mine.ID:
			return nil
		}
		return other.conflict(a.Name, a.ID)
	}
	return errClaimGone
}

// Release removes the claim, and no other.
func (c *Claimer) Release(ctx context.Context) error {
	list, err := c.Service.List(ctx, c.Mine.place().ClaimName())
	if err != nil {
		return fmt.Errorf("look at the claim: %w", err)
	}
	for _, a := range list {
		if other, err := c.read(ctx, a); err != nil || other.ID != c.Mine.ID {
			continue
		}
		if err := c.Service.Delete(ctx, a); err != nil && !forge.IsMissing(err) {
			return fmt.Errorf("remove the claim: %w", err)
		}
	}
	return nil
}

// read fetches a claim. One that is none of this action is a *Conflict.
func (c *Claimer) read(ctx context.Context, a artifacts.Artifact) (Claim, error) {
	return fetchClaim(c.Temp, a, func(f *os.File) (int64, error) { return c.Service.Download(ctx, a, 2*maxClaim, f) })
}

// fetchClaim downloads a claim and reads it.
func fetchClaim(temp string, a artifacts.Artifact, download func(*os.File) (int64, error)) (Claim, error) {
	f, err := os.CreateTemp(temp, "claim-*.zip")
	if err != nil {
		return Claim{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	size, err := download(f)
	if err == nil {
		var claim Claim
		if claim, err = unpackClaim(f, size); err == nil {
			return claim, nil
		}
	}
	if errors.Is(err, errNoClaim) || errors.Is(err, artifacts.ErrTooLarge) {
		return Claim{}, &Conflict{Name: a.Name, ID: a.ID, What: "it is no claim of this action; " + ownKeys}
	}
	return Claim{}, fmt.Errorf("fetch a claim: %w", err)
}

// hasEnded reports whether a claim no longer counts, since its holder has ended.
func (c *Claimer) hasEnded(ctx context.Context, other Claim) bool {
	if c.Alive != nil {
		if alive, known := c.Alive(other.Process); known {
			return !alive
		}
	}
	if other.RunID == c.Mine.RunID && (other.Attempt < c.Mine.Attempt || other.Holder == c.Mine.Holder) {
		return true // an earlier attempt's, or an earlier step's of this job
	}
	if c.Ended != nil {
		if ended, known := c.Ended(ctx, other); known {
			return ended
		}
	}
	if other.Deadline.IsZero() {
		return time.Now().After(other.Created.Add(withoutEnd))
	}
	return time.Now().After(other.Deadline.Add(afterDeadline))
}
