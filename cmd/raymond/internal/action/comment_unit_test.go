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
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
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

// TestWhatTheCommentHasNoTimeForIsOwed to people, by the post part.
func TestWhatTheCommentHasNoTimeForIsOwed(t *testing.T) {
	for api, want := range map[ask.Forum]bool{&oneComment{}: false, &deafForge{}: true} {
		synctest.Test(t, func(t *testing.T) {
			p := &page{step: newStep(Env{}, io.Discard, false), comment: &comment{poster: ask.StartComment(api, 7, "m"), text: func() string { return "m" }}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			p.finish(ctx)
			assert.Check(t, is.Equal(p.step.note.get().Owed, want), "%T", api)
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
