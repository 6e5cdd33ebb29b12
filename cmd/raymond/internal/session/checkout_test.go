package session

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/runner"
)

// TestRemovedRepositoryIsAnError checks that HandOver returns an error if the repository was removed. If
// the directory was in no repository before the agents began, HandOver hands over nothing.
func TestRemovedRepositoryIsAnError(t *testing.T) {
	for base, want := range map[string]bool{"": true, "4b825dc642cb6eb9a060e54bf8d69288fbee4904": false} {
		g := &workspace.Git{Temp: t.TempDir()}
		got, err := Checkout{Base: base}.HandOver(g)(t.Context(), runner.Work{Dir: t.TempDir()}, t.TempDir())
		assert.Check(t, is.Equal((err == nil), want), "begun at %q", base)
		assert.Check(t, is.Equal(got, (runner.HandOver{})), "begun at %q", base)
	}
}
