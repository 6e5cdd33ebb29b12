package action

import (
	"context"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// admit decides whether the sender of the event may start the workflow, and whether the checkout
// may configure the agent CLI. It sets both in p.
func admit(ctx context.Context, s *step, p *prepared) error {
	if ask.IsStickyComment(s.event.Comment.Body) || ask.IsQuestionOrReply(s.event.Comment.Body) {
		// With a token other than the job's own, each edit of the comment would start the next run.
		return s.log.skip("skipped: the event is about a comment that this action maintains")
	}
	if !s.event.Code.Known && p.heard == nil { // otherwise the comment's lookup has tried this already
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
	if denied.IsTemporary { // a skipped step would hide a maintainer's event
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

// findHead looks up where the code of a pull request comes from. If the lookup fails, it logs a
// warning, and the code counts as a stranger's.
func findHead(ctx context.Context, api *job.GitHub, e *job.Event, log *jobLog) {
	if err := api.FindHead(ctx, e); err != nil {
		log.warn("could not find out whether the code of this event comes from a fork, so it is treated as untrusted: " + err.Error())
	}
}

// storeFault returns a problem of class store for a service that did not answer.
func storeFault(where string, err error) error {
	return &problem.Problem{Class: problem.ClassStore, Where: where, What: err.Error(), Hint: "nothing was started; run the job again later"}
}
