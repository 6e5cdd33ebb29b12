package workspace_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

func TestChangesOfTheCheckoutAreNotOverwritten(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	old, saved := worked(t)
	for _, test := range some([]struct {
		name, do string // do is a script
		want     []string
	}{
		{"modified, needed", "echo mine > a", []string{"a"}},
		{"modified, not needed", "echo mine > run.sh", []string{"run.sh"}},
		{"modified, to be removed", "echo mine > crlf", []string{"crlf"}},
		{"staged alone", "echo mine > run.sh; git add run.sh; git show HEAD:run.sh > run.sh; chmod +x run.sh", []string{"run.sh"}},
		{"mode", "chmod +x a", []string{"a"}},
		{"staged", "echo mine > a; git add a", []string{"a"}},
		{"untracked", "echo mine > loose", []string{"loose"}},
		{"ignored", "mkdir .git/info; echo loose > .git/info/exclude; echo mine > loose", []string{"loose"}},
		{"file in place of a folder", "echo mine > fresh", []string{"fresh"}},
		{"link in place of a folder", "ln -s dir fresh", []string{"fresh"}},
		{"folder in place of a file", "mkdir loose; echo mine > loose/in; echo too > loose/x.o", []string{"loose/in", "loose/x.o"}},
		{"branch with commits", "git checkout -q -b some/side; git commit -q --allow-empty -m mine; git checkout -q main", nil},
		{"something in place of a worktree", "mkdir ../beside; echo mine > ../beside/mine", []string{"mine"}},
		{"a file in place of a worktree", "echo mine > ../beside", nil},
		{"a branch in place of a folder of branches", "git branch some", nil},
		{"a folder of branches in place of a branch", "git branch some/side/x", nil},
	}) {
		t.Run(test.name, func(t *testing.T) {
			here := clone(t, remote, "--depth=1")
			sh(t, here.checkout(), test.do)
			before := everything(t, here.root, noObjects)
			_, err := restore(t, saved, old, here)
			var conflict *workspace.Conflict
			assert.Assert(t, errors.As(err, &conflict), "error: got %v, want a conflict", err)
			assert.Check(t, is.DeepEqual(conflict.Files, test.want), "files of %v", err)
			assert.Check(t, is.DeepEqual(everything(t, here.root, noObjects), before), "after the conflict")
		})
	}
}

// TestHarmlessChangesAreNoConflict checks that a restore succeeds if it can't lose the checkout's changes.
func TestHarmlessChangesAreNoConflict(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	old, saved := worked(t)
	scripts := map[string]string{
		"the same change":                   "echo unstaged > dir/b",
		"the same file":                     "echo untracked > loose",
		"the same change, staged":           "echo committed > a; git add a",
		"a file that is gone":               "rm run.sh",
		"an empty folder":                   "mkdir loose",
		"a branch at the checkout's commit": "git branch some/side",
		"an empty folder for the worktree":  "mkdir ../beside",
		"touched files":                     "touch run.sh",
		"a detached HEAD":                   "git checkout -q --detach",
	}
	for _, name := range some(names(scripts)) {
		t.Run(name, func(t *testing.T) {
			here := clone(t, remote, "--depth=1")
			sh(t, here.checkout(), scripts[name])
			mustRestore(t, saved, old, here)
			same(t, old.checkout(), here.checkout())
			same(t, filepath.Join(old.root, "beside"), filepath.Join(here.root, "beside"))
		})
	}
}

func TestUnrelatedFilesStay(t *testing.T) {
	remote := sharedRemote(t)
	old, saved := worked(t)
	here := clone(t, remote)
	sh(t, here.checkout(), "echo by an earlier step > built; echo ignored > x.o; git checkout -q -b own; git commit -q --allow-empty -m own; git checkout -q main")
	own := branches(t, here.checkout())["own"]
	mustRestore(t, saved, old, here)
	assert.Check(t, is.Equal(read(t, here.checkout(), "built")+read(t, here.checkout(), "x.o"), "by an earlier step\nignored\n"), "files outside of the save")
	assert.Check(t, is.Equal(branches(t, here.checkout())["own"], own), "branch outside of the save")
}

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
