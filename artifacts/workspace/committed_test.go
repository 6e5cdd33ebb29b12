package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestExtractTakesWhatWasCommitted: neither the working tree, nor a replaced object,
// nor a link changes what comes out.
func TestExtractTakesWhatWasCommitted(t *testing.T) {
	dir := clone(t, sharedRemote(t)).checkout()
	write(t, dir, "wf/START.sh", "committed\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "wf/LINK.sh")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "wf")
	git(t, dir, "commit", "-q", "-m", "states")
	commit := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
	write(t, dir, "wf/START.sh", "edited\n")
	git(t, dir, "commit", "-q", "-a", "-m", "other")
	git(t, dir, "replace", commit, "HEAD")
	to := filepath.Join(t.TempDir(), "to")
	g := &workspace.Git{}
	if err := g.Extract(t.Context(), workspace.Committed{Dir: dir, Commit: commit, Name: "wf"}, to); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(to, "wf/START.sh")); err != nil || string(got) != "committed\n" {
		t.Errorf("wf/START.sh: got %q (%v), want what was committed", got, err)
	}
	if _, err := os.Lstat(filepath.Join(to, "wf/LINK.sh")); err == nil {
		t.Error("wf/LINK.sh: got the link, want nothing")
	}
	for _, wrong := range []workspace.Committed{
		{Dir: dir, Commit: commit[:10], Name: "wf"}, {Dir: dir, Commit: "--output=/dev/null", Name: "wf"},
		{Dir: dir, Commit: strings.Repeat("0", 40), Name: "wf"}, {Dir: dir, Commit: commit, Name: "nothing"},
	} {
		if err := g.Extract(t.Context(), wrong, t.TempDir()); err == nil {
			t.Errorf("%+v: got no error", wrong)
		}
	}
}

// TestBaseIsWhatTheRemoteHas: commits on top of what the job started with are not
// part of it, as far as that can be told.
func TestBaseIsWhatTheRemoteHas(t *testing.T) {
	dir := clone(t, sharedRemote(t)).checkout()
	started := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "on top")
	head := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
	for _, test := range []struct{ dir, started, want string }{
		{dir, started, started}, {dir, "", head}, {dir, "main", head}, {dir, strings.Repeat("0", 40), head},
		{t.TempDir(), started, ""},
	} {
		if got := (&workspace.Git{}).Base(t.Context(), test.dir, test.started); got != test.want {
			t.Errorf("base of a job that started at %q: got %q, want %q", test.started, got, test.want)
		}
	}
}
