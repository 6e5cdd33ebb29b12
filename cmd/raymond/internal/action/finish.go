package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// ending is what a step has come to: a run that has stopped, and what its end is stored and told with, by the main part,
// that has seconds for it when the job was cancelled, or by the post part, that has minutes and does what is left. What the
// step has not reached is empty.
type ending struct {
	run      *state.Run  // nil before it has been driven
	flow     *flow       // nil for not known
	jobFile  []byte      // the job's workflow file; nil where it can't be read
	isBlind  bool        // later workflow runs can't look for the run
	file     *state.File // its state, with the lock; nil in the post part
	to       *storage    // nil: nothing is stored of it
	unstored error       // why its end can't be stored; nil where it can
	take     taker
	stops    *session.Stops        // nil before the run is driven, and in the post part
	told     *session.Session      // that tells its events; nil in the post part
	asks     *asking               // nil: nobody is asked
	tell     func(context.Context) // tells what can be done next
	opens    []func()

	kept      kept
	page      *page
	next      ask.NextSteps
	isSkipped bool // nothing was started, and that is no error
	isIdle    bool // nothing of the run is due, so that it was left alone
}

// newEnding is the end of a run that is about to be driven or shown.
func newEnding(s *step, p prepared, b *readyRun) *ending {
	return &ending{flow: b.flow, jobFile: readJobFile(s.in, s.dirs.top, s.event.Workflow, p.isTrusted), isBlind: b.isBlind(), file: b.file, to: b.to}
}

// atEnd has something done when the end is told, before what was to be done so far.
func (e *ending) atEnd(do func()) { e.opens = append(e.opens, do) }

func (e *ending) close() {
	for _, do := range slices.Backward(e.opens) {
		do()
	}
}

// conflict is with somebody else who has the key; nil for none.
func (e *ending) conflict() *slots.Conflict {
	if e.to == nil {
		return nil
	}
	return e.to.claim.Conflict()
}

// isCancelled reports whether there is little time, and a post part that does what it is too
// short for.
func (e *ending) isCancelled() bool { return e.stops.Since() >= 0 && !e.stops.IsOrphaned() }

// within is how long something may take that would be given a time else; ok is false where
// nothing may begin any more.
func (e *ending) within(most time.Duration) (limit time.Duration, ok bool) {
	switch since := e.stops.Since(); {
	case e.stops.IsOrphaned():
		return min(most, orphanSave), true
	case since < 0:
		return most, true
	default:
		return cancelEnd - since, since <= cancelBegin
	}
}

const (
	// orphanSave is how long the last save may take when the runner is gone.
	orphanSave = 30 * time.Second
	// gitAtEnd is how long the end of a run may take that depends on git; all runs of git together have three fifths of it.
	gitAtEnd = 75 * time.Second
	// On cancel the runner kills the step ten seconds after its first signal. What can't be
	// stored by then, the post part of the step stores.
	cancelBegin = 4 * time.Second
	cancelEnd   = 5 * time.Second // the step has to leave within 7 s, on a busy machine too
)

// kept says how much of a run is stored.
type kept struct {
	artifact string      // the name of the one with the last checkpoint; "" for none
	named    slots.Named // the last checkpoint; zero for none
	isWhole  bool        // that has the end of the run
	byPost   bool        // the post part has stored it
	report   report.Link // to the report; zero for none
	lost     string      // why nothing of the run may be stored; "" when it may
}

// from notes the checkpoint in which a run was found.
func (k *kept) from(l lookup) {
	if l.isStored() {
		k.artifact = l.found.Artifact.Name
		k.named = slots.Named{WorkflowID: l.was.WorkflowID, Generation: l.manifest.Generation, Digest: l.found.Digest}
	}
}

// finish stores the end of a run, what it has spent and its report, gives its key up, starts its workflow again where
// that is to be, and tells what can be done next. What the main part has no time for is left to the post part.
func finish(ctx context.Context, s *step, e *ending) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if e.stops != nil {
		defer context.AfterFunc(e.stops.Requested, func() {
			limit, _ := e.within(orphanSave)
			time.AfterFunc(limit, cancel)
		})()
	}
	limit, _ := e.within(gitAtEnd)
	clock, stop := context.WithTimeoutCause(ctx, limit*3/5, fmt.Errorf("all runs of git %w %v", workspace.ErrSlow, limit*3/5))
	defer stop()
	s.git.SetContext(clock)
	err := storeEnd(ctx, s, e)
	if taken := e.conflict(); taken != nil { // also one that was learned at the save
		e.kept, err = kept{lost: anothers}, taken
	}
	// Whoever is next with the key finds the end of the run, and what it has spent.
	if !e.isCancelled() {
		if err := book(ctx, s, e.run); err != nil && (s.isPost || e.stops.IsOrphaned()) {
			s.log.warn(notBooked(err))
		}
	}
	giveUpKey(ctx, s.log, e)
	reportEnd(ctx, s, e)
	if err == nil {
		continueRun(ctx, s, e)
	}
	e.next = e.outlook(s, e.run)
	e.tell(ctx)
	isSuspended := e.run.Progress.Status == state.Suspended
	limit, _ = e.within(lastComment)
	return errors.Join(err, e.asks.finish(ctx, limit, isSuspended, s.in.IsLocal() || e.kept.isWhole))
}

// lastSave is how long the last checkpoint may take.
const lastSave = 5 * time.Minute

// anothers is why nothing is stored of a run whose key is another's.
const anothers = "another job drives a run with this key, so nothing of this one is stored"

// storeEnd stores a run that has stopped.
func storeEnd(ctx context.Context, s *step, e *ending) error {
	if e.to == nil {
		return errors.Join(e.unstored, keepLocalWork(ctx, s, e))
	}
	e.kept.named = lastOf(e.to.store.Chain(), e.run)
	limit, ok := e.within(lastSave)
	if !ok || e.conflict() != nil {
		e.to.saver.Stop()
		return nil
	}
	shot, err := e.take(e.run)
	if err != nil {
		return err
	}
	shot.Last = !e.isCancelled() // else the post part stores what there was no time for
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	event, err := e.to.saver.Final(ctx, shot)
	isAsked := e.stops.Since() >= 0 // to end, by now
	if e.told != nil && (err == nil || !isAsked) {
		e.told.Report(e.run.UnsavedEvent(time.Now(), nil, event))
	}
	if s.isPost && err == nil {
		s.log.print(fmt.Sprintf("stored %s at step %d (%s) as %s", e.run.WorkflowID, event.SeqStored, e.run.Progress.Status, event.Store))
	}
	chain := e.to.store.Chain()
	e.kept = kept{artifact: chain.Name, named: lastOf(chain, e.run), isWhole: err == nil, byPost: err == nil && s.isPost}
	if notes := e.to.store.Notes(); e.to.store.IsOpen() {
		s.log.note(notes...) // a warning at the start named the losses already
	} else {
		s.log.reportLosses(notes)
	}
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
	if _, ok := errors.AsType[*slots.Conflict](err); ok || err == nil {
		return err
	}
	return &problem.Problem{Class: problem.ClassStore, Where: "last checkpoint", What: err.Error(), Hint: "the state is kept on this machine as long as it lives"}
}

// giveUpKey removes the claim of the main part, if there is time; the post part does it otherwise.
func giveUpKey(ctx context.Context, log *jobLog, e *ending) {
	limit, ok := e.within(orphanSave)
	if e.conflict() != nil {
		limit, ok = orphanSave, true
	}
	if e.to == nil || e.to.claim == nil || !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := e.to.claim.Release(ctx); err != nil && e.stops.Since() < 0 {
		log.warn(err.Error() + "; the post part of the step tries it again")
	}
}

// reportEnd stores the report of a run that has stopped. That it can't be done is no reason to fail. Of a run whose key is
// another's nothing is stored.
func reportEnd(ctx context.Context, s *step, e *ending) {
	isBegun := e.to != nil || e.kept.isWhole || s.in.IsLocal() // by this step
	if e.stops.Since() >= 0 || e.conflict() != nil || !isBegun {
		return
	}
	link, err := storeReport(ctx, s, e.run, e.outlook(s, e.run).Text)
	if err != nil {
		text := "the report of the run could not be stored: " + err.Error()
		s.log.note(sentence(text))
		s.log.notice(text)
	}
	e.kept.report = link
}

// continueRun starts the workflow again for a run whose end is stored. Who has cancelled
// the job does not want that: then the post part does not do it either.
func continueRun(ctx context.Context, s *step, e *ending) {
	switch {
	case s.part() != nil: // the step that joins it hands it over again
		return
	case e.run.Progress.Continuing != state.Continues || s.in.Continuations == 0:
	case e.stops.Since() >= 0:
		if err := s.note.change(func(d *noteData) { d.Dispatched = true }); err != nil {
			s.log.warn(err.Error())
		}
		return
	case !e.kept.isWhole && !s.in.IsLocal():
		return // the post part stores it, and does this then
	}
	if note := redispatched(ctx, s, e.run); note != "" {
		s.log.note(note)
	}
}
