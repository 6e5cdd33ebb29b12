package action

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
)

// jobStartWait is how long the API may take to say when the job began.
const jobStartWait = 5 * time.Second

// askJobStart asks, beside everything else, when the job began, from which its deadline
// counts. What it returns waits for the answer: the start of the step where nobody can say
// it, or when the step has no deadline.
func askJobStart(ctx context.Context, s *step) (began func() time.Time) {
	if s.stored.archive == nil || s.options.Deadline == 0 || s.event.Runner == "" || s.event.IsUnderAct() {
		return func() time.Time { return s.began }
	}
	answer := make(chan time.Time, 1)
	ctx, cancel := context.WithTimeout(ctx, jobStartWait)
	go func() {
		defer cancel()
		jobs, _ := s.stored.archive.Jobs(ctx, s.event.RunID) // none where the token may not ask
		answer <- slots.StartOf(jobs, jobOf(s.event))
	}()
	return func() time.Time {
		if of := <-answer; !of.IsZero() && of.Before(s.began) {
			return of
		}
		return s.began
	}
}
