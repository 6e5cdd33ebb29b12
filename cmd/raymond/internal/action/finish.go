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
	"github.com/raymond-action/raymond-action/state/journal"
)

// ending has the data with which a step stores and reports the end of a run. In the main phase
// there are only seconds for this if the job was cancelled. The post phase has minutes and does the
// rest. Fields for stages that the step has not reached are zero.
type ending struct {
	run      *state.Run    // nil before the run is driven
	flow     *flow         // nil if not known
	jobFile  []byte        // the job's workflow file; nil if it can't be read
	isBlind  bool          // later workflow runs can't look for the run
	file     *journal.File // its state, with the lock; nil in the post phase
	to       *storage      // nil: the run is not stored
	unstored error         // why the end can't be stored; nil if it can
	take     taker
	stops    *session.Stops        // nil before the run is driven, and in the post phase
	told     *session.Session      // the session that drives the run; nil in the post phase
	asks     *asking               // nil: the run asks no questions
	tell     func(context.Context) // reports the user's next steps
	opens    []func()

	kept      kept
	page      *page
	next      ask.NextSteps
	isSkipped bool // no run was started, and this is not an error
	isIdle    bool // nothing in the run is due, so it was left unchanged
}

// newEnding returns the ending of a run that is about to be driven or shown.
func newEnding(s *step, p prepared, b *readyRun) *ending {
	return &ending{flow: b.flow, jobFile: readJobFile(s.in, s.dirs.top, s.event.Workflow, p.isTrusted), isBlind: b.isBlind(), file: b.file, to: b.to}
}

// atEnd registers a function for close, which calls the functions in reverse order.
func (e *ending) atEnd(do func()) { e.opens = append(e.opens, do) }

func (e *ending) close() {
	for _, do := range slices.Backward(e.opens) {
		do()
	}
}

// conflict returns the conflict with another job that has the key, or nil.
func (e *ending) conflict() *slots.Conflict {
	if e.to == nil {
		return nil
	}
	return e.to.claim.Conflict()
}

// isCancelled reports whether the step has little time left and a post phase will do the rest.
func (e *ending) isCancelled() bool { return e.stops.Since() >= 0 && !e.stops.IsOrphaned() }

// within returns the time limit for an operation whose usual limit is most. ok is false if no
// operation may begin any more.
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
	// gitAtEnd is the time limit for work at the end of a run that depends on git. All git commands
	// together get three fifths of it.
	gitAtEnd = 75 * time.Second
	// On a cancellation, the runner kills the step ten seconds after its first signal. The post
	// phase stores the rest.
	cancelBegin = 4 * time.Second
	cancelEnd   = 5 * time.Second // the step must exit within 7 s, also on a busy machine
)

// kept describes how much of a run is stored.
type kept struct {
	artifact string      // the artifact of the last checkpoint; "" for none
	named    slots.Named // the last checkpoint; zero for none
	isWhole  bool        // the last checkpoint contains the end of the run
	byPost   bool        // the post phase stored the last checkpoint
	report   report.Link // to the report; zero for none
	lost     string      // why the run may not be stored; "" if it may
}

// from records the checkpoint in which the run was found.
func (k *kept) from(l lookup) {
	if l.isStored() {
		k.artifact = l.found.Artifact.Name
		k.named = slots.Named{WorkflowID: l.was.WorkflowID, Generation: l.manifest.Generation, Digest: l.found.Digest}
	}
}

// finish stores the end of a run, its spending and its report, releases the key, starts the
// workflow again if the run is to continue, and reports the user's next steps. The post phase does
// the rest if the main phase has too little time.
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
	clock, stop := context.WithTimeoutCause(ctx, limit*3/5, fmt.Errorf("all git commands %w %v", workspace.ErrSlow, limit*3/5))
	defer stop()
	s.git.SetContext(clock)
	err := storeEnd(ctx, s, e)
	if taken := e.conflict(); taken != nil { // includes a conflict that was found while saving
		e.kept, err = kept{lost: anothers}, taken
	}
	// Before the key is released, so that the next holder of the key finds the end of the run and
	// its spending.
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

// anothers is the reason why a run is not stored if another job has its key.
const anothers = "another job drives a run with this key, so this run is not stored"

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
	shot.Last = !e.isCancelled() // otherwise the post phase stores the rest
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	event, err := e.to.saver.Final(ctx, shot)
	isAsked := e.stops.Since() >= 0 // the step must end, perhaps only since the save
	if e.told != nil && (err == nil || !isAsked) {
		e.told.Report(e.run.UnsavedEvent(time.Now(), nil, event))
	}
	if s.isPost && err == nil {
		s.log.print(fmt.Sprintf("stored %s at step %d (%s) as %s", e.run.WorkflowID, event.SeqStored, e.run.Progress.Status, event.Store))
	}
	chain := e.to.store.Chain()
	e.kept = kept{artifact: chain.Name, named: lastOf(chain, e.run), isWhole: err == nil, byPost: err == nil && s.isPost}
	if notes := e.to.store.Notes(); e.to.store.IsOpen() {
		s.log.note(notes...) // the warning at the start named the losses already
	} else {
		s.log.reportLosses(notes)
	}
	if err != nil && isAsked {
		return nil
	}
	return storeProblem(err)
}

// lastOf returns the name of a run's last checkpoint.
func lastOf(c checkpoints.Chain, run *state.Run) slots.Named {
	if c.Generation == 0 || c.Digest == "" {
		return slots.Named{}
	}
	return slots.Named{WorkflowID: run.WorkflowID, Generation: c.Generation, Digest: c.Digest}
}

// storeProblem returns the problem that the last checkpoint was not stored, or the conflict that
// prevented it.
func storeProblem(err error) error {
	if _, ok := errors.AsType[*slots.Conflict](err); ok || err == nil {
		return err
	}
	return &problem.Problem{Class: problem.ClassStore, Where: "last checkpoint", What: err.Error(), Hint: "the state stays on this machine as long as the machine exists"}
}

// giveUpKey removes the claim of the main phase if there is time. Otherwise the post phase removes
// it.
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
		log.warn(err.Error() + "; the post phase of the step will try again")
	}
}

// reportEnd stores the report of a run that has stopped. A failure does not fail the step. No
// report is stored if another job has the key.
func reportEnd(ctx context.Context, s *step, e *ending) {
	isBegun := e.to != nil || e.kept.isWhole || s.in.IsLocal() // this step has driven or stored the run
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

// continueRun starts the workflow again for a run whose end is stored. If the user cancelled the
// job, neither this phase nor the post phase starts it.
func continueRun(ctx context.Context, s *step, e *ending) {
	switch {
	case s.part() != nil: // the step that joins the parts hands the part over again
		return
	case e.run.Progress.Continuing != state.Continues || s.in.Continuations == 0:
	case e.stops.Since() >= 0:
		if err := s.note.change(func(d *noteData) { d.Dispatched = true }); err != nil {
			s.log.warn(err.Error())
		}
		return
	case !e.kept.isWhole && !s.in.IsLocal():
		return // the post phase stores it and then does this
	}
	if note := redispatched(ctx, s, e.run); note != "" {
		s.log.note(note)
	}
}
