package action

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner/report"
)

// testScratch returns the scratch of a step that has no directory yet.
func testScratch() *scratch {
	return &scratch{log: newLog(job.NewLogWriter(io.Discard, ""), true), note: &postNote{}}
}

// deafForge is a forge that never answers.
type deafForge struct{ ask.CommentAPI }

func (deafForge) ListIssueComments(ctx context.Context, _ int) ([]job.Comment, error) {
	<-ctx.Done()
	return nil, &forge.Error{Kind: forge.Unanswered, Err: ctx.Err()}
}

// TestUnfinishedCommentIsLeftToPost checks that a comment that can't be updated in time is left to
// the post phase.
func TestUnfinishedCommentIsLeftToPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &page{job: &Job{}, s: testScratch(), comment: &comment{poster: ask.StartStickyComment(deafForge{}, 7, "m"), text: func() string { return "m" }}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p.finish(ctx, false)
		assert.Check(t, is.Equal(p.s.note.get().Pending, pendingComment))
	})
}

// TestProblemsAreMaskedBeforeTheyAreCut checks that a cut problem contains no part of a secret.
func TestProblemsAreMaskedBeforeTheyAreCut(t *testing.T) {
	const secret = "hunter2-hunter2-hunter2"
	for n := range 250 {
		said, s := "", testScratch()
		s.log.mask, _ = secrets.New(map[string]string{"KEY": secret})
		p := &page{job: &Job{}, s: s, summary: report.NewSummary(report.NewLiveModel(), report.SummaryOptions{Write: func(text string) error { said = text; return nil }})}
		p.addError(strings.Repeat("x", n) + secret + strings.Repeat("y", 300))
		assert.Check(t, said != "" && !strings.Contains(said+p.summary.Overview(), "unter"), "a problem with a secret at %d: got %q, want it without any of it", n, said)
	}
}
