//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// wantPage checks that the step summary has each of some texts.
func (j *bareJob) wantPage(parts ...string) {
	j.T.Helper()
	page := strings.ReplaceAll(sitetest.Read(j.T, j.CommandFile("GITHUB_STEP_SUMMARY")), `\`, "") // nothing in it is Markdown
	for _, part := range parts {
		if !strings.Contains(page, part) {
			j.T.Errorf("step summary: got %s, want %q in it", page, part)
		}
	}
}

// TestRefusalsNameTheInput, once, in log and page.
func TestRefusalsNameTheInput(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "built")
	repo := acttest.Repository(t, "-- wf/START.md --\n---\ndone_when: ['echo x >"+outside+"']\nmax_attempts: 2\nbackoff: none\n---\nreply:\n<result>done</result>\nend.\n")
	j := newJob(t, sitetest.NewForge(t), repo, 1).with("claude-path", sitetest.Stub.Path(t))
	e := j.do(1)
	want := "cage: refused to write " + outside + "; if it is needed, add its folder to input cage-write"
	if n := strings.Count(e.Stdout, want); n != 1 {
		t.Errorf("log: got the refusal %d times, want once\n%v", n, e)
	}
	j.wantPage("cage: refused to write " + outside)
	j.with("cage-write", filepath.Dir(outside), "resume", "never", "key", "again").do(0)
}
