package action

import (
	"context"
	"fmt"
	"path"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/state"
)

// redispatched starts the workflow again for a run that the deadline has suspended, if the
// state says that it is to be continued so. It returns what people are told of it; "" for
// nothing. What is about to be done is noted first: whatever happens to the step then,
// neither its post part nor anybody else starts the workflow a second time.
func redispatched(ctx context.Context, s *step, run *state.Run) string {
	p := &run.Progress
	if s.in.Continuations == 0 || s.note.get().Dispatched {
		return ""
	}
	switch p.Continuing {
	case state.NoProgress:
		return "The workflow is not started again: no agent has moved on in this part of the run."
	case state.TooOften:
		return fmt.Sprintf("The workflow is not started again: that was done %d times in a row (`max-continuations`).", p.Continuations)
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

// redispatchRef is the branch or the tag on which the workflow is started again; why says why it
// can't be, and is "" if it can.
func redispatchRef(e job.Event, in job.Settings, own string, isSealed bool) (ref, why string) {
	ref = own
	if e.Kind == job.KindPullRequest {
		ref = e.Repository.DefaultBranch
	}
	switch {
	case e.Workflow == "" || ref == "":
		return ref, "the runner does not tell which workflow file and which branch this is"
	case in.GitHubToken == "":
		return ref, "there is no github-token"
	case e.Branch != ref && e.Branch != e.Repository.DefaultBranch && !isSealed && !in.IsLocal():
		return ref, "it would run on " + ref + ", where a checkpoint of the branch " + e.Branch + " counts only if it is sealed: set the input state-key"
	}
	return ref, ""
}
