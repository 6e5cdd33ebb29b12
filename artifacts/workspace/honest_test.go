//go:build unix

package workspace_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestPartialClonesFetchWhatTheyLack restores to a checkout whose files were left out.
func TestPartialClonesFetchWhatTheyLack(t *testing.T) {
	remote := ownRemote(t)
	git(t, remote, "config", "uploadpack.allowFilter", "true")
	git(t, remote, "config", "uploadpack.allowAnySHA1InWant", "true")
	old, saved := worked(t)
	advance(t, remote)
	here := clone(t, remote, "--filter=blob:none") // it has the commit, and not its files
	mustRestore(t, saved, old, here)
	same(t, old.checkout(), here.checkout())
}

// TestLineEndsAreThoseOfTheUser: how line ends are converted is often set for a user,
// and such files are not changed.
func TestLineEndsAreThoseOfTheUser(t *testing.T) {
	remote := sharedRemote(t)
	s := site{t.TempDir()}
	git(t, s.root, "-c", "core.autocrlf=true", "clone", "-q", "file://"+remote, s.checkout())
	assert.Assert(t, is.Contains(read(t, s.checkout(), "a"), "\r\n"), "file of the checkout")
	sh(t, s.checkout(), "cp a b; mv b a") // git has to look into it
	for settings, want := range map[string]bool{"[core]\n\tautocrlf = true\n": false, "": true} {
		g := &workspace.Git{Env: homeWith(t, settings)}
		saved := save(t, g, workspace.Saving{Dirs: []string{s.checkout()}, Base: head(t, s.checkout())})
		if saved.Held != want {
			t.Errorf("settings %q: got work %v, want %v (%v)", settings, saved.Held, want, slices.Sorted(slices.Values(saved.Notes)))
		}
	}
}
