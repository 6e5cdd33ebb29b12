package action

import (
	"context"
	"fmt"
	"path"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/state"
)

// redispatched starts the workflow again for a run that was suspended at its deadline, if its state
// requests this. It returns a sentence for users, or "". The attempt is recorded first, so that the
// workflow is never started twice, whatever happens to the step.
func redispatched(ctx context.Context, s *step, run *state.Run) string {
	p := &run.Progress
	if s.in.Continuations == 0 || s.note.get().Dispatched {
		return ""
	}
	switch p.Continuing {
	case state.NoProgress:
		return "The workflow is not started again: no agent has made progress in this segment of the run."
	case state.TooOften:
		return fmt.Sprintf("The workflow is not started again: it was started %d times in a row.", p.Continuations)
	case state.Continues:
	default:
		return ""
	}
	ref, why := redispatchRef(s.event, s.in, s.env.Getenv("GITHUB_REF_NAME"), s.keys != nil)
	err := s.note.change(func(d *noteData) { d.Dispatched = true })
	if err == nil && why == "" {
		err = s.api.Dispatch(ctx, path.Base(s.event.Workflow), ref, s.key)
	}
	if err != nil {
		why = err.Error()
	}
	if why != "" {
		s.log.warn("the workflow could not be started again to continue the run: " + why)
		return "The workflow could not be started again to continue the run: " + s.log.shown(why) + "."
	}
	s.log.print(fmt.Sprintf("started %s again on %s to continue the run (%d of %d in a row)", s.event.Workflow, ref, p.Continuations, s.in.Continuations))
	return fmt.Sprintf("The workflow was started again to continue the run (%d of %d in a row).", p.Continuations, s.in.Continuations)
}

// redispatchRef returns the branch or tag on which the workflow is started again, and why it can't
// be started; why is "" if it can.
func redispatchRef(e job.Event, in job.Settings, own string, isSealed bool) (ref, why string) {
	ref = own
	if e.Kind == job.KindPullRequest {
		ref = e.Repository.DefaultBranch
	}
	switch {
	case e.Workflow == "" || ref == "":
		return ref, "the runner does not provide the workflow file or the branch"
	case in.GitHubToken == "":
		return ref, "there is no github-token"
	case e.Branch != ref && e.Branch != e.Repository.DefaultBranch && !isSealed && !in.IsLocal():
		return ref, "it would run on " + ref + ", where a checkpoint of the branch " + e.Branch + " is accepted only if it is sealed: set the input state-key"
	}
	return ref, ""
}
