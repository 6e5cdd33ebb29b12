//go:build unix

package workspace_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestPartialClonesFetchMissingObjects checks that a save fetches missing objects from origin. If origin doesn't
// provide them, the error must wrap ErrNoObjects. A restore in a checkout whose file contents were not cloned must
// fetch them.
func TestPartialClonesFetchMissingObjects(t *testing.T) {
	remote := ownRemote(t)
	git(t, remote, "config", "uploadpack.allowFilter", "true")
	git(t, remote, "config", "uploadpack.allowAnySHA1InWant", "true")
	for _, filter := range []string{"blob:none", "tree:0"} {
		s := clone(t, remote, "--filter="+filter, "--sparse")
		dir, base := s.checkout(), head(t, s.checkout())
		sh(t, dir, "git sparse-checkout set sub; mkdir dir; echo new > dir/new")
		shots := snapshots(t, &workspace.Git{})
		take(t, shots, workspace.Snapshot{Exec: 1, Dir: dir})
		here := clone(t, remote)
		moveTo(t, s, here, base, dir)
		assert.Check(t, is.Equal(read(t, here.checkout(), "dir/new"), "new\n"), filter)
		sh(t, dir, "git update-ref -d refs/remotes/origin/main; git update-ref -d refs/remotes/origin/HEAD")
		save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: []string{dir}}) // origin has no refs here, so the whole history is saved
		git(t, dir, "remote", "set-url", "origin", "file:///nowhere")
		_, err := new(workspace.Git).Save(t.Context(), workspace.SaveRequest{Dirs: []string{dir}, To: t.TempDir()})
		assert.Check(t, is.ErrorIs(err, workspace.ErrNoObjects), filter)
	}
	old, saved := worked(t)
	advance(t, remote)
	here := clone(t, remote, "--filter=blob:none") // the clone contains the commit, but not the files
	mustRestore(t, saved, old, here)
	same(t, old.checkout(), here.checkout())
}

// TestLineEndsOfTheUserAreNoChange checks that the user's settings for line ends apply, so that converted
// files don't count as changed.
func TestLineEndsOfTheUserAreNoChange(t *testing.T) {
	remote := sharedRemote(t)
	s := site{t.TempDir()}
	git(t, s.root, "-c", "core.autocrlf=true", "clone", "-q", "file://"+remote, s.checkout())
	assert.Assert(t, is.Contains(read(t, s.checkout(), "a"), "\r\n"), "file of the checkout")
	sh(t, s.checkout(), "cp a b; mv b a") // makes git read the file
	for settings, want := range map[string]bool{"[core]\n\tautocrlf = true\n": false, "": true} {
		g := &workspace.Git{Env: homeWith(t, settings)}
		saved := save(t, g, workspace.SaveRequest{Dirs: []string{s.checkout()}, Base: head(t, s.checkout())})
		if saved.HasWork != want {
			t.Errorf("settings %q: got work %v, want %v (%v)", settings, saved.HasWork, want, slices.Sorted(slices.Values(saved.Notes)))
		}
	}
}
