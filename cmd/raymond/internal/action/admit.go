package action

import (
	"context"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// admit asks whether who caused the event may start the workflow, and whether the
// checkout may configure the agent CLI.
func admit(ctx context.Context, s *step, p *prepared) error {
	if ask.IsStickyComment(s.event.Comment.Body) || ask.IsQuestionOrReply(s.event.Comment.Body) {
		// With a token other than the job's own, each edit would start the next run.
		return s.log.skip("skipped: the event is about a comment that this action keeps")
	}
	if !s.event.Code.Known && p.heard == nil { // else that was tried
		findHead(ctx, s.api, &s.event, s.log)
	}
	lowest, denied := job.Authorize(ctx, s.in.Rules, s.event, s.api)
	if denied == nil {
		p.isAllowed, p.isTrusted = true, job.IsCheckoutTrusted(s.event, lowest)
		if s.in.TrustCheckout != nil {
			p.isTrusted = *s.in.TrustCheckout
		}
		return nil
	}
	if denied.IsTemporary { // a maintainer's event is not to vanish
		return storeFault("permission", denied)
	}
	var err error
	if p.isAllowed, err = p.heard.admits(ctx, s.api, s.event, denied); err != nil || p.isAllowed {
		return err
	}
	refused := &problem.Problem{Class: problem.ClassDenied, What: denied.Error(), Hint: denied.Remedy()}
	if s.in.OnDenied == job.OnDeniedSkip {
		return s.log.skip("skipped: " + refused.Error())
	}
	return refused
}

// findHead finds out where the code of a pull request comes from, once. That it can't be found
// out is a warning: then it is trusted no more than a stranger's.
func findHead(ctx context.Context, api *job.GitHub, e *job.Event, log *jobLog) {
	if err := api.FindHead(ctx, e); err != nil {
		log.warn("where the code of this event comes from can't be found out: " + err.Error())
	}
}

// storeFault is of a service that was asked in vain.
func storeFault(where string, err error) error {
	return &problem.Problem{Class: problem.ClassStore, Where: where, What: err.Error(), Hint: "nothing was started; run the job again later"}
}
