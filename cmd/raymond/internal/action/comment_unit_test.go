package action

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner/report"
)

// oneComment is a forge with one comment at most.
type oneComment struct {
	ask.Forum // of which a comment needs no more
	body      string
}

func (o *oneComment) Comments(context.Context, int) ([]job.Remark, error) { return nil, nil }

func (o *oneComment) Say(_ context.Context, _ int, body string) (job.Remark, error) {
	o.body = body
	return job.Remark{ID: 1, Author: job.Account{Login: "us"}, Body: body}, nil
}

func (o *oneComment) Edit(_ context.Context, _ int64, body string) error {
	o.body = body
	return nil
}

// deafForge is a forge that never answers.
type deafForge struct{ oneComment }

func (*deafForge) Comments(ctx context.Context, _ int) ([]job.Remark, error) {
	<-ctx.Done()
	return nil, &forge.Error{Kind: forge.Unanswered, Err: ctx.Err()}
}

// TestACancelledStepHasSecondsForTheComment, from the signal on, which may come while the last
// text is written. What there is no time for is left to the post part.
func TestACancelledStepHasSecondsForTheComment(t *testing.T) {
	const never = time.Hour
	for _, tt := range []struct {
		api               ask.Forum
		signalled, leaves time.Duration
		isOwed            bool
	}{
		{&oneComment{}, 0, 0, false},
		{&deafForge{}, 0, cancelComment, true},
		{&deafForge{}, -time.Second, cancelComment - time.Second, true},
		{&deafForge{}, 5 * time.Second, 5*time.Second + cancelComment, true},
		{&deafForge{}, never, lastComment, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			c := &comment{poster: ask.StartComment(tt.api, 7, "m"), text: func() string { return "m" }}
			p := &page{step: newStep(Env{}, io.Discard, false), comment: c}
			ctx, cancel := commentTime(func() time.Duration { return time.Since(began) - tt.signalled })
			defer cancel()
			p.finish(ctx)
			if took, isOwed := time.Since(began), p.step.note.get().Owed; took != tt.leaves || isOwed != tt.isOwed {
				t.Errorf("%T, signalled after %v: left after %v, owed %v; want %v and %v", tt.api, tt.signalled, took, isOwed, tt.leaves, tt.isOwed)
			}
		})
	}
}

// TestAProblemIsMaskedBeforeItIsCut: nobody finds half a secret any more.
func TestAProblemIsMaskedBeforeItIsCut(t *testing.T) {
	const secret = "hunter2-hunter2-hunter2"
	for n := range 250 {
		synctest.Test(t, func(t *testing.T) {
			api, s := &oneComment{}, newStep(Env{}, io.Discard, false)
			s.log.mask, _ = secrets.New(map[string]string{"KEY": secret})
			p := &page{step: s, summary: report.NewSummary(report.NewLiveModel(), report.SummaryOptions{Write: func(string) error { return nil }})}
			text := func() string { return s.log.shown(p.summary.Overview()) }
			p.comment = &comment{poster: ask.StartComment(api, 7, ""), text: text}
			finishPage(s, false, &ending{page: p}, []*problem.Problem{{Class: problem.ClassStore, What: strings.Repeat("x", n) + secret + strings.Repeat("y", 300)}})
			if strings.Contains(api.body, "unter") || api.body == "" {
				t.Errorf("a problem with a secret at %d: got %q, want it without any of it", n, api.body)
			}
		})
	}
}
