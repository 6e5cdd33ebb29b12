package action

import (
	"context"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// admission says what the event that started the job may do.
type admission struct {
	isAllowed bool // who caused it may start the workflow
	isTrusted bool // the checkout may configure the agent CLI
	isSkipped bool // nothing is started, and that is no error
}

// admit asks whether who caused the event may start the workflow, and whether the
// checkout may configure the agent CLI. A step that may run a workflow reserves its
// key among the steps of its job.
func admit(ctx context.Context, s *step, c *call) (admission, error) {
	a, err := authorize(ctx, s, c)
	if err != nil || a.isSkipped || s.in.Mode != job.ModeRun {
		return a, err
	}
	return a, reserveKey(s)
}

func authorize(ctx context.Context, s *step, c *call) (admission, error) {
	if ask.IsComment(s.event.About.Body) || ask.IsMarked(s.event.About.Body) {
		// With a token other than the job's own, each edit would start the next run.
		s.voice.notice("skipped: the event is about a comment that this action keeps")
		return admission{isSkipped: true}, nil
	}
	api, err := s.api()
	if err != nil {
		return admission{}, err
	}
	if !s.event.Code.Known && !c.isCall { // else that was tried
		if err := findHead(ctx, s); err != nil {
			s.voice.warn(err.Error())
		}
	}
	grant, denied := job.Authorize(ctx, s.in.Rules, s.event, api)
	if denied == nil {
		a := admission{isAllowed: true, isTrusted: job.Trusted(s.event, grant)}
		if s.in.TrustCheckout != nil {
			a.isTrusted = *s.in.TrustCheckout
		}
		return a, nil
	}
	if denied.Unanswered { // a maintainer's event is not to vanish
		return admission{}, &problem.Problem{Class: problem.ClassStore, Where: "permission", What: denied.Error(), Hint: "nothing was started; run the job again later"}
	}
	if admits, err := c.admits(ctx, s, denied); err != nil || admits {
		return admission{isAllowed: true}, err
	}
	p := &problem.Problem{Class: problem.ClassDenied, What: denied.Error(), Hint: denied.Remedy()}
	if s.in.OnDenied == job.OnDeniedSkip {
		s.voice.notice("skipped: " + p.Error())
		return admission{isSkipped: true}, nil
	}
	return admission{}, p
}
