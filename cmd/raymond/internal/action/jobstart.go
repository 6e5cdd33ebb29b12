package action

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
)

// jobStartWait is how long the API may take to return the start of the job.
const jobStartWait = 5 * time.Second

// askJobStart requests the start of the job in the background, because the deadline counts from it.
// The function that it returns waits for the answer. It returns the start of the step if the start
// of the job is not known, or if the step has no deadline.
func askJobStart(ctx context.Context, s *step) (began func() time.Time) {
	if s.stored.archive == nil || s.options.Deadline == 0 || s.event.Runner == "" || s.event.IsUnderAct() {
		return func() time.Time { return s.began }
	}
	answer := make(chan time.Time, 1)
	ctx, cancel := context.WithTimeout(ctx, jobStartWait)
	go func() {
		defer cancel()
		jobs, _ := s.stored.archive.Jobs(ctx, s.event.RunID) // empty if the token lacks the permission
		answer <- slots.StartOf(jobs, jobOf(s.event))
	}()
	return func() time.Time {
		if of := <-answer; !of.IsZero() && of.Before(s.began) {
			return of
		}
		return s.began
	}
}
