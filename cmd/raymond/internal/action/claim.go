package action

import (
	"context"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// claimWait is how long a step waits for its claim before it restores a run.
const claimWait = 10 * time.Second

// newClaimer returns a claimer for the key of the step.
func newClaimer(s *step) *slots.Claimer {
	query := s.query()
	holder := s.stored.runtime.Job()
	if s.event.IsUnderAct() { // its token names the workflow run in place of the job
		holder = "act " + s.event.Job + " " + s.in.Matrix
	}
	mine := slots.Claim{
		ID: s.note.get().Claim, Key: s.key, Part: query.Part.Name, Holder: holder, RunID: s.event.RunID, Attempt: s.event.Attempt, Job: s.event.Job, Step: filepath.Base(s.dirs.own),
		Runner: s.event.Runner, RunURL: s.event.RunURL(s.event.RunID), Created: time.Now().UTC(), Process: s.env.Process.Self(),
	}
	if s.options.Deadline > 0 {
		mine.Deadline = mine.Created.Add(s.options.Deadline)
	}
	query.Temp = s.dirs.own
	return &slots.Claimer{
		Finder: &s.stored.finder, Query: query, Mine: mine, Retention: time.Duration(s.in.RetentionDays) * 24 * time.Hour, Alive: s.env.Process.Alive, Sleep: forge.Sleep,
	}
}

// startClaim starts to claim the key of the step.
func startClaim(s *step) (*checkpoints.Claim, error) {
	if err := s.note.change(func(d *noteData) { d.Claim, d.Lost = uuid.NewString(), false }); err != nil {
		return nil, err
	}
	lose := func() { // then neither this phase nor the post phase stores the run
		if err := s.note.change(func(d *noteData) { d.Lost = true }); err != nil {
			s.log.warn(err.Error())
		}
	}
	return checkpoints.StartClaim(newClaimer(s), s.log.warn, lose), nil
}

// claimNow claims the key before the run that was found under it is restored. c.claim stays nil if
// another job has the key.
func (c *call) claimNow(ctx context.Context, s *step) error {
	if err := c.noteKey(s.note); err != nil {
		return err
	}
	claim, err := startClaim(s)
	if err != nil {
		return err
	}
	if claim.Wait(ctx, claimWait); claim.Conflict() != nil {
		return claim.Release(ctx)
	}
	c.claim = claim
	return nil
}
