package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
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
		name string
		do   func(dir string)
		want []string
	}{
		{"modified, needed", func(dir string) { write(t, dir, "a", "mine\n") }, []string{"a"}},
		{"modified, not needed", func(dir string) { write(t, dir, "run.sh", "mine\n") }, []string{"run.sh"}},
		{"modified, to be removed", func(dir string) { write(t, dir, "crlf", "mine\n") }, []string{"crlf"}},
		{"staged alone", func(dir string) {
			write(t, dir, "run.sh", "mine\n")
			git(t, dir, "add", "run.sh")
			write(t, dir, "run.sh", "#!/bin/sh\n")
			os.Chmod(filepath.Join(dir, "run.sh"), 0o755)
		}, []string{"run.sh"}},
		{"mode", func(dir string) { os.Chmod(filepath.Join(dir, "a"), 0o755) }, []string{"a"}},
		{"staged", func(dir string) { write(t, dir, "a", "mine\n"); git(t, dir, "add", "a") }, []string{"a"}},
		{"untracked", func(dir string) { write(t, dir, "loose", "mine\n") }, []string{"loose"}},
		{"ignored", func(dir string) {
			write(t, dir, ".git/info/exclude", "loose\n")
			write(t, dir, "loose", "mine\n")
		}, []string{"loose"}},
		{"file in place of a folder", func(dir string) { write(t, dir, "fresh", "mine\n") }, []string{"fresh"}},
		{"link in place of a folder", func(dir string) { os.Symlink("dir", filepath.Join(dir, "fresh")) }, []string{"fresh"}},
		{"folder in place of a file", func(dir string) { write(t, dir, "loose/in", "mine\n"); write(t, dir, "loose/x.o", "too\n") },
			[]string{"loose/in", "loose/x.o"}},
		{"branch with commits", func(dir string) {
			git(t, dir, "checkout", "-q", "-b", "some/side")
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "mine")
			git(t, dir, "checkout", "-q", "main")
		}, nil},
		{"something in place of a worktree", func(dir string) { write(t, filepath.Dir(dir), "beside/mine", "mine\n") }, []string{"mine"}},
		{"a file in place of a worktree", func(dir string) { write(t, filepath.Dir(dir), "beside", "mine\n") }, nil},
		{"a branch in place of a folder of branches", func(dir string) { git(t, dir, "branch", "some") }, nil},
		{"a folder of branches in place of a branch", func(dir string) { git(t, dir, "branch", "some/side/x") }, nil},
	}) {
		t.Run(test.name, func(t *testing.T) {
			here := clone(t, remote, "--depth=1")
			test.do(here.checkout())
			before := everything(t, here.root, noObjects)
			_, err := restore(t, saved, old, here)
			var conflict *workspace.Conflict
			assert.Assert(t, errors.As(err, &conflict), "error: got %v, want a conflict", err)
			assert.Check(t, is.DeepEqual(conflict.Files, test.want), "files of %v", err)
			assert.Check(t, is.DeepEqual(everything(t, here.root, noObjects), before), "after the conflict")
		})
	}
}

// TestWhatIsNotInTheWayStays has changes in the checkout that lose nothing.
func TestWhatIsNotInTheWayStays(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	old, saved := worked(t)
	for _, test := range some([]struct {
		name string
		do   func(dir string)
	}{
		{"the same change", func(dir string) { write(t, dir, "dir/b", "unstaged\n") }},
		{"the same file", func(dir string) { write(t, dir, "loose", "untracked\n") }},
		{"the same change, staged", func(dir string) { write(t, dir, "a", "committed\n"); git(t, dir, "add", "a") }},
		{"a file that is gone", func(dir string) { os.Remove(filepath.Join(dir, "run.sh")) }},
		{"an empty folder", func(dir string) { os.Mkdir(filepath.Join(dir, "loose"), 0o777) }},
		{"a branch at the checkout's commit", func(dir string) { git(t, dir, "branch", "some/side") }},
		{"an empty folder for the worktree", func(dir string) { os.Mkdir(filepath.Join(filepath.Dir(dir), "beside"), 0o777) }},
		{"touched files", func(dir string) { write(t, dir, "run.sh", "#!/bin/sh\n") }},
		{"a detached HEAD", func(dir string) { git(t, dir, "checkout", "-q", "--detach") }},
	}) {
		t.Run(test.name, func(t *testing.T) {
			here := clone(t, remote, "--depth=1")
			test.do(here.checkout())
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
	write(t, here.checkout(), "built", "by an earlier step\n")
	write(t, here.checkout(), "x.o", "ignored\n")
	git(t, here.checkout(), "checkout", "-q", "-b", "own")
	git(t, here.checkout(), "commit", "-q", "--allow-empty", "-m", "own")
	git(t, here.checkout(), "checkout", "-q", "main")
	own := branches(t, here.checkout())["own"]
	mustRestore(t, saved, old, here)
	assert.Check(t, is.Equal(read(t, here.checkout(), "built")+read(t, here.checkout(), "x.o"), "by an earlier step\nignored\n"), "files that the save doesn't have: want them untouched")
	assert.Check(t, is.Equal(branches(t, here.checkout())["own"], own), "branch that the save doesn't have")
}
