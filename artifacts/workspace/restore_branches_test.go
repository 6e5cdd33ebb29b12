package workspace_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestSavesAreRestoredAsBranches checks that each branch contains the committed, changed and new files of
// its save, and that the checkout stays unchanged.
func TestSavesAreRestoredAsBranches(t *testing.T) {
	remote := sharedRemote(t)
	here := clone(t, remote)
	write(t, here.checkout(), "own.txt", "mine\n")
	before, at := pictureOf(t, here.checkout()), head(t, here.checkout())
	for _, name := range []string{"one", "two"} {
		there := clone(t, remote)
		dir, beside := there.checkout(), filepath.Join(there.root, "beside")
		sh(t, dir, "n="+name+"; git worktree add -q -b side-$n ../beside; echo changed by $n > a; mkdir sub; echo new of $n > sub/new; cd ../beside; echo committed by $n > b; git add b; git commit -q -m b")
		to := t.TempDir()
		save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: []string{dir, beside}, Base: head(t, dir), To: to})
		where := relocated(there, here)
		notes, err := (&workspace.Git{}).RestoreAsBranches(t.Context(), workspace.RestoreRequest{From: to, Dir: where}, map[string]string{
			"raymond/" + name: where(filepath.Join(dir, "sub")), "raymond/" + name + "_side": where(beside), "raymond/elsewhere": "/nowhere",
		})
		assert.NilError(t, err)
		assert.Assert(t, is.Len(notes, 0), "bring: %q, %v", notes, err)
	}
	for _, name := range []string{"one", "two"} {
		for path, want := range map[string]string{
			"raymond/" + name + ":a": "changed by " + name + "\n", "raymond/" + name + ":sub/new": "new of " + name + "\n",
			"raymond/" + name + "_side:b": "committed by " + name + "\n",
		} {
			assert.Check(t, is.Equal(git(t, here.checkout(), "show", path), want), path)
		}
		assert.Check(t, is.Equal(strings.TrimSpace(git(t, here.checkout(), "rev-parse", "raymond/"+name+"^")), at), "parent of raymond/%s", name)
	}
	_, err := try(here.checkout(), "rev-parse", "--verify", "-q", "raymond/elsewhere")
	assert.Check(t, err != nil, "a directory that was not saved became a branch")
	sameAs(t, before, here.checkout())
}
