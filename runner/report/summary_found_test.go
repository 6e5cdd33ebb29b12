package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// TestWhatWasFoundDifferent is on the page and at the glance, which is the comment.
func TestWhatWasFoundDifferent(t *testing.T) {
	page := ""
	s := report.NewSummary(report.SummaryOptions{
		Write: func(text string) error { page = text; return nil }, WorkflowID: "w", Found: []string{"Run w goes on at 1b01085, on the work begun at e907715."},
	})
	if err := s.Report(state.Event{Seq: 1, Time: time.Unix(1e9, 0), Body: &state.RunStarted{Scope: "wf", Resumed: true}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"page": page, "glance": s.Glance()} {
		if n := strings.Count(strings.ReplaceAll(text, `\`, ""), "goes on at 1b01085, on the work begun at e907715"); n != 1 {
			t.Errorf("%s: got it %d times in %q, want once", where, n, text)
		}
	}
}
