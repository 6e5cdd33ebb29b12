package action

import (
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// result is what a part of a step has come to, for those who are told of it. What its phases
// have not reached is empty.
type result struct {
	prepared
	found     lookup
	gone      <-chan struct{}    // closed when the runner is gone
	stops     *session.Stops     // nil before the run is driven, and in the post part
	store     *checkpoints.Store // nil: nothing is stored
	claim     *checkpoints.Claim
	run       *state.Run // nil before it has been driven
	kept      kept
	page      *page
	jobFile   []byte // the job's workflow file; nil where it can't be read
	next      ask.Outlook
	isSkipped bool // nothing was started, and that is no error
	isIdle    bool // nothing of the run is due, so that it was left alone
	isLate    bool // the main part had to be ended by this post part: its page was read before
}

// sessionsFile has the conversations of a step, in its own folder. Its name is not
// one that a state file could have.
const sessionsFile = "sessions.note"

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
		k.named = slots.Named{WorkflowID: l.was.WorkflowID, Generation: l.found.Manifest.Generation, Digest: l.found.Digest}
	}
}

// isCancelled reports whether there is little time, and a post part that does what it is too
// short for.
func (r *result) isCancelled() bool { return r.stops.Since() >= 0 && !r.stops.IsOrphaned() }

// within is how long something may take that would be given a time else; ok is false where
// nothing may begin any more.
func (r *result) within(most time.Duration) (limit time.Duration, ok bool) {
	switch since := r.stops.Since(); {
	case r.stops.IsOrphaned():
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
	// On cancel the runner kills the step ten seconds after its first signal. What can't be
	// stored by then, the post part of the step stores.
	cancelBegin = 4 * time.Second
	cancelEnd   = 5 * time.Second // the step has to leave within 7 s, on a busy machine too
)
