package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/state"
)

// ending is a run that has stopped, and what its end is stored and told with: by the main part, that has seconds for it
// when the job was cancelled, or by the post part, that has minutes and does what is left.
type ending struct {
	run      *state.Run
	to       *storage // nil: nothing is stored of it
	unstored error    // why its end can't be stored; nil where it can
	take     taker
	told     *session.Session            // that tells its events; nil in the post part
	asks     *asking                     // nil: nobody is asked
	tell     func(context.Context) error // tells what can be done next
	opens    []func()
}

// atEnd has something done when the end is told, before what was to be done so far.
func (e *ending) atEnd(do func()) { e.opens = append(e.opens, do) }

func (e *ending) close() {
	for _, do := range slices.Backward(e.opens) {
		do()
	}
}

// finish stores the end of a run, what it has spent and its report, gives its key up, starts its workflow again where
// that is to be, and tells what can be done next. What the main part has no time for is left to the post part.
func finish(ctx context.Context, s *step, r *result, e *ending) error {
	err := storeEnd(ctx, s, r, e)
	if taken := r.claim.Conflict(); taken != nil { // also one that was learned at the save
		r.kept, err = kept{lost: anothers}, taken
	}
	// Whoever is next with the key finds the end of the run, and what it has spent.
	if !r.isCancelled() {
		if err := book(ctx, s, e.run); err != nil && (s.isPost || r.stops.IsOrphaned()) {
			s.log.warn(notBooked(err))
		}
	}
	giveUpKey(ctx, s, r)
	reportEnd(ctx, s, r, e.run)
	if err == nil {
		continueRun(ctx, s, r, e.run)
	}
	r.run, r.next = e.run, r.outlook(s, e.run)
	err = errors.Join(err, e.tell(ctx))
	isSuspended := e.run.Progress.Status == state.Suspended
	return errors.Join(err, e.asks.finish(r.stops.Since, isSuspended, s.isLocal() || r.kept.isWhole))
}

// lastSave is how long the last checkpoint may take.
const lastSave = 5 * time.Minute

// anothers is why nothing is stored of a run whose key is another's.
const anothers = "another job drives a run with this key, so nothing of this one is stored"

// storeEnd stores a run that has stopped.
func storeEnd(ctx context.Context, s *step, r *result, e *ending) error {
	if e.to == nil {
		return e.unstored
	}
	r.kept.named = lastOf(e.to.store.Chain(), e.run)
	limit, ok := r.within(lastSave)
	if !ok || r.claim.Conflict() != nil {
		e.to.saver.Stop()
		return nil
	}
	shot, err := e.take(e.run)
	if err != nil {
		return err
	}
	shot.Last = !r.isCancelled() // else the post part stores what there was no time for
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	event, err := e.to.saver.Final(ctx, shot)
	isAsked := r.stops.Since() >= 0 // to end, by now
	if e.told != nil && (err == nil || !isAsked) {
		e.told.Report(e.run.UnsavedEvent(time.Now(), nil, event))
	}
	if s.isPost && err == nil {
		s.log.print(fmt.Sprintf("stored %s at step %d (%s) as %s", e.run.WorkflowID, event.SeqStored, e.run.Progress.Status, event.Store))
	}
	chain := e.to.store.Chain()
	r.kept = kept{artifact: chain.Name, named: lastOf(chain, e.run), isWhole: err == nil, byPost: err == nil && s.isPost}
	s.log.note(e.to.store.Notes()...)
	if err != nil && isAsked {
		return nil
	}
	return storeProblem(err)
}

// lastOf names the last checkpoint of a run.
func lastOf(c checkpoints.Chain, run *state.Run) slots.Named {
	if c.Generation == 0 || c.Digest == "" {
		return slots.Named{}
	}
	return slots.Named{WorkflowID: run.WorkflowID, Generation: c.Generation, Digest: c.Digest}
}

// storeProblem says that the last checkpoint was not stored.
func storeProblem(err error) error {
	var conflict *slots.Conflict
	if err == nil || errors.As(err, &conflict) {
		return err
	}
	return &problem.Problem{Class: problem.ClassStore, Where: "last checkpoint", What: err.Error(), Hint: "the state is kept on this machine as long as it lives"}
}

// giveUpKey removes the claim of the main part, if there is time; the post part does it otherwise.
func giveUpKey(ctx context.Context, s *step, r *result) {
	limit, ok := r.within(orphanSave)
	if r.claim.Conflict() != nil {
		limit, ok = orphanSave, true
	}
	if r.claim == nil || !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := r.claim.Release(ctx); err != nil && r.stops.Since() < 0 {
		s.log.warn(err.Error() + "; the post part of the step tries it again")
	}
}

// reportEnd stores the report of a run that has stopped. That it can't be done is no reason to fail. Of a run whose key is
// another's nothing is stored.
func reportEnd(ctx context.Context, s *step, r *result, run *state.Run) {
	if r.stops.Since() >= 0 || r.claim.Conflict() != nil {
		return
	}
	link, err := storeReport(ctx, s, run, r.outlook(s, run).Text)
	if err != nil {
		text := "the report of the run could not be stored: " + err.Error()
		s.log.note(sentence(text))
		s.log.notice(text)
	}
	r.kept.report = link
}

// continueRun starts the workflow again for a run whose end is stored. Who has cancelled
// the job does not want that: then the post part does not do it either.
func continueRun(ctx context.Context, s *step, r *result, run *state.Run) {
	switch {
	case s.part() != nil: // the step that joins it hands it over again
		return
	case run.Progress.Continuing != state.Continues || s.in.Continuations == 0:
	case r.stops.Since() >= 0:
		if err := s.note.change(func(d *noteData) { d.Dispatched = true }); err != nil {
			s.log.warn(err.Error())
		}
		return
	case !r.kept.isWhole && !s.isLocal():
		return // the post part stores it, and does this then
	}
	if note := redispatched(ctx, s, run); note != "" {
		s.log.note(note)
	}
}
