package workspace_test

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestSnapshotsAreRestored restores a snapshot in the checkout of another machine, which is at a later
// commit, with branch, commits, index and files.
func TestSnapshotsAreRestored(t *testing.T) {
	t.Parallel()
	remote := ownRemote(t)
	first, dir, shots := started(t, remote)
	sh(t, dir, "git checkout -q -b fix; echo committed > a; git commit -qam 'not at the remote'; echo staged > dir/b; git add -A; echo untracked > new")
	take(t, shots, workspace.Snapshot{Exec: 1, Dir: dir})
	want := pictureOf(t, dir)
	write(t, dir, "later", "of the future\n")
	take(t, shots, workspace.Snapshot{Exec: 2, Dir: dir})
	bundle, _ := packed(t, shots, mebi)

	advance(t, remote)
	second := clone(t, remote)
	shots = unpacked(t, bundle, first, second)
	list := listed(t, shots)
	before := workspace.SnapshotsBefore(list, 2)
	for range 2 { // the second time nothing changes
		if notes, err := shots.Restore(t.Context(), before[0]); err != nil || len(notes) > 0 {
			t.Fatalf("put back: %v %q", err, notes)
		}
		assert.Check(t, is.DeepEqual(pictureOf(t, second.checkout()), want), "checkout")
	}

	third := clone(t, remote)
	shots = unpacked(t, bundle, first, third)
	write(t, third.checkout(), "new", "another change\n")
	now := pictureOf(t, third.checkout())
	list = listed(t, shots)
	_, err := shots.Restore(t.Context(), workspace.SnapshotsBefore(list, 2)[0])
	assert.Check(t, isConflict(err), "restore over a change: got %v, want a conflict", err)
	sameAs(t, now, third.checkout())
}
