package workspace_test

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestSnapshotsAreRestored restores a snapshot on another machine, whose checkout is at a later commit. It
// checks the branch, the commits, the index and the files. A restore that would overwrite a change must
// fail.
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
	for range 2 { // the second restore changes nothing
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
