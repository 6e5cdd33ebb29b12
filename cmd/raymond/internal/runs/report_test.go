package runs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
)

// TestReportOfAStateFolder: what a report says comes from the state, the event log and the
// transcripts of a folder, and it is a file that only its owner can read.
func TestReportOfAStateFolder(t *testing.T) {
	r, err := runs.BuildReport(newLarge(t, 2, 5_000))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Executions) != 4 || len(r.Agents) != 3 || r.Status != "completed" || len(r.LeftOut) > 0 {
		t.Errorf("got %d executions of %d agents, status %s, left out %q; want 4, 3, completed, nothing", len(r.Executions), len(r.Agents), r.Status, r.LeftOut)
	}
	for _, x := range r.Executions {
		if n := len(x.Messages); n < 4 || x.Messages[n-1].Text != "<result>done</result>" {
			t.Errorf("execution %d: got %d messages, want its conversation", x.N, n)
		}
	}

	page := filepath.Join(t.TempDir(), "page.html")
	var stdout bytes.Buffer
	if err := runs.WriteReport(&stdout, page, false, r); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(page)
	if err != nil || stdout.String() != page+"\n" || !strings.Contains(string(data), `id="e4"`) {
		t.Errorf("got stdout %q and a page of %d bytes, %v; want its name and a page on the run", &stdout, len(data), err)
	}
	if info, err := os.Stat(page); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("got the mode %v, %v, want a file for its owner", info.Mode(), err)
	}
	if err := runs.WriteReport(&stdout, t.TempDir(), false, r); err == nil {
		t.Error("a folder in place of the file: got no error")
	}
}
