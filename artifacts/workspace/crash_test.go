package workspace_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestCrashAnywhere has a restore end at each of its git commands, and while it writes
// files, and another one mend it.
func TestCrashAnywhere(t *testing.T) {
	remote := newRemote(t)
	old, _ := worked(t, remote)
	git(t, old.checkout(), "checkout", "-q", "-b", "other")
	write(t, old.checkout(), "dir/announced", strings.Repeat("long enough to be cut\n", 10))
	git(t, old.checkout(), "add", "-N", "dir/announced")
	git(t, old.checkout(), "rm", "-q", "-f", "run.sh")
	write(t, old.checkout(), "run.sh/now a folder", "x\n")
	saved := t.TempDir()
	base := strings.TrimSpace(git(t, old.checkout(), "rev-parse", "origin/main"))
	save(t, &workspace.Git{}, workspace.Saving{Dirs: []string{old.checkout(), filepath.Join(old.root, "beside")}, To: saved, Base: base})
	crash := func(t *testing.T, script string) bool {
		here := clone(t, remote, "--depth=1")
		_, err := wrapped(t, script).Restore(t.Context(), workspace.Restoring{From: saved, Dir: relocated(old, here), TempRoot: t.TempDir()})
		mustRestore(t, saved, old, here)
		same(t, old.checkout(), here.checkout())
		same(t, filepath.Join(old.root, "beside"), filepath.Join(here.root, "beside"))
		if got, want := branches(t, here.checkout()), branches(t, old.checkout()); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("branches: got %v, want %v", got, want)
		}
		return err != nil && !t.Failed()
	}
	n := 1
	for ; ; n++ {
		count := filepath.Join(t.TempDir(), "count")
		if !crash(t, fmt.Sprintf("n=0; read n < '%s'; n=$((n+1)); echo $n > '%[1]s'; [ $n -ge %d ] && exit 3", count, n)) {
			break
		}
	}
	if n < 20 {
		t.Errorf("commands that can fail: got %d, want 20 at least", n)
	}
	for bytes := 0; bytes < 400; bytes += 37 {
		crash(t, fmt.Sprintf(`[ "$1 $2" = "cat-file --batch" ] && { "$git" "$@" | head -c %d; exit 0; }`, bytes))
	}
}
