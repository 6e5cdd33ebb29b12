package workspace_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestCrashAnywhere interrupts restores before git commands and while files are written. It checks that a
// second restore completes the work.
func TestCrashAnywhere(t *testing.T) {
	remote := sharedRemote(t)
	old := site{t.TempDir()}
	work(t, old, remote, t.TempDir())
	sh(t, old.checkout(), "git checkout -q -b other; seq 100 > dir/long; git rm -qf run.sh; mkdir run.sh; echo x > 'run.sh/now a folder'")
	saved := t.TempDir()
	base := strings.TrimSpace(git(t, old.checkout(), "rev-parse", "origin/main"))
	save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: []string{old.checkout(), filepath.Join(old.root, "beside")}, To: saved, Base: base})
	beside := filepath.Join(old.root, "beside")
	wantHere, wantBeside, wantBranches := pictureOf(t, old.checkout()), pictureOf(t, beside), fmt.Sprint(branches(t, old.checkout()))
	// crash restores with a git that runs a script before each command. Then it restores again with the
	// normal git.
	crash := func(t *testing.T, script string) error {
		t.Helper()
		here := clone(t, remote, "--depth=1")
		_, err := wrapped(t, script).Restore(t.Context(), workspace.RestoreRequest{From: saved, Dir: relocated(old, here)})
		mustRestore(t, saved, old, here)
		sameAs(t, wantHere, here.checkout())
		sameAs(t, wantBeside, filepath.Join(here.root, "beside"))
		assert.Check(t, is.Equal(fmt.Sprint(branches(t, here.checkout())), wantBranches), "branches")
		return err
	}
	counting := func(t *testing.T, then string) (script, file string) {
		file = filepath.Join(t.TempDir(), "count")
		return fmt.Sprintf("n=0; read n < '%s'; n=$((n+1)); echo $n > '%[1]s'; %s", file, then), file
	}
	script, file := counting(t, "")
	assert.NilError(t, crash(t, script))
	commands, err := strconv.Atoi(strings.TrimSpace(read(t, filepath.Dir(file), filepath.Base(file))))
	assert.NilError(t, err, "number of commands")
	assert.Assert(t, commands >= 20, "got %d commands (%v), want at least 20", commands, err)
	for n := 1; n <= commands; n += everyMoment {
		t.Run(fmt.Sprint("command ", n), func(t *testing.T) {
			t.Parallel()
			script, _ := counting(t, fmt.Sprintf("[ $n -ge %d ] && exit 3", n))
			assert.Check(t, crash(t, script) != nil, "the restore did not fail")
		})
	}
	for bytes := 0; bytes < 400; bytes += 37 * min(everyMoment, 4) {
		t.Run(fmt.Sprint("byte ", bytes), func(t *testing.T) {
			t.Parallel()
			crash(t, fmt.Sprintf(`[ "$1 $2" = "cat-file --batch" ] && { "$git" "$@" | head -c %d; exit 0; }`, bytes))
		})
	}
}
