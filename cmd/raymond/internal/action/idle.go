package action

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// hasNothingToDo reports whether the step ends here, having stored, shown and spent
// nothing, and says so in one line: what it was told to continue is not there, or nothing
// of the run is due.
func hasNothingToDo(ctx context.Context, s *step, r *result, l lookup) bool {
	e := l.existing
	switch {
	case e == nil && isTold(s):
		r.admission.isSkipped = true
		s.voice.notice("nothing is started: no run of the key that this dispatch names is there to be continued by this job")
		return true
	case e == nil || e.isOver || e.run.WorkflowID == s.in.Resume, // who names it wants it tried
		hasParts(ctx, s, l):
		return false
	}
	here := state.Here{Jobs: s.options.Jobs, JobOf: r.flow.Workflow.JobOf}
	if e.run.IsDue(time.Now(), here, s.options.Hold) || hasAnswers(ctx, s, r, e) {
		return false
	}
	s.voice.notice("nothing is due: run " + e.run.WorkflowID + " is suspended (" + e.run.Progress.Reason + ")" + untilText(e.run))
	r.run, r.isIdle = e.run, true
	if e.found != nil {
		r.kept.artifact = e.found.Artifact.Name
		r.kept.named = slots.Named{WorkflowID: e.run.WorkflowID, Generation: e.found.Manifest.Generation, Digest: e.found.Digest}
	}
	r.next = r.outlook(s, e.run)
	return true
}

func untilText(run *state.Run) string {
	if until := run.Progress.Until; !until.IsZero() {
		return " until " + report.Minute(until)
	}
	return ""
}
