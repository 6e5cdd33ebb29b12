package action

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/state"
)

// reportOf is a report of which hide is asked about each text.
func reportOf(t *testing.T, hide func(string) string) reporting {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "report.zip"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	run := state.New(state.Run{WorkflowID: "w", Scope: "wf", Entry: "A.md", Files: map[string]string{"A.md": ""}}, "", time.Now())
	return reporting{runs.Source{StateDir: t.TempDir(), Run: run, Hide: hide}, f}
}

// TestAReportThatTakesTooLongIsLeft: the step goes on, and the file is closed later.
func TestAReportThatTakesTooLongIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := reportOf(t, func(text string) string {
			time.Sleep(time.Hour)
			return text
		})
		ctx, cancel := context.WithTimeoutCause(t.Context(), reportTime, errors.New("too long"))
		defer cancel()
		began := time.Now()
		if _, err := writeReport(ctx, x); err == nil || err.Error() != "too long" || time.Since(began) != reportTime {
			t.Errorf("got %v after %v, want the cause after %v", err, time.Since(began), reportTime)
		}
		time.Sleep(100 * time.Hour)
		if _, err := x.to.Write(nil); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the file: got %v, want it closed", err)
		}
	})
}
