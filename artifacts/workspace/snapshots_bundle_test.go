package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// mebi is the limit on bundles that most tests use.
const mebi = 1 << 20

// packed packs snapshots into a bundle within a limit. It returns the path of the bundle.
func packed(t testing.TB, shots *workspace.Snapshots, limit int64) (string, workspace.PackResult) {
	t.Helper()
	to := filepath.Join(t.TempDir(), workspace.BundleName)
	c, err := shots.Within(limit).Pack(t.Context(), to, "")
	assert.NilError(t, err)
	return to, c
}

// unpacked unpacks a bundle of snapshots on another machine. There, the run works in the checkout of the site
// here and in two more repositories.
func unpacked(t testing.TB, bundle string, old, here site) *workspace.Snapshots {
	t.Helper()
	shots := snapshots(t, new(workspace.Git))
	dirs := []string{here.checkout(), clone(t, sharedRemote(t)).checkout(), clone(t, sharedRemote(t)).checkout()}
	err := shots.Unpack(t.Context(), workspace.RestoreRequest{From: filepath.Dir(bundle), Dir: relocated(old, here)}, dirs)
	assert.NilError(t, err)
	return shots
}

// listedDirs returns the execution number of each snapshot, and its directory relative to a site.
func listedDirs(t testing.TB, shots *workspace.Snapshots, s site) []string {
	t.Helper()
	var all []string
	for _, one := range listed(t, shots) {
		all = append(all, fmt.Sprint(one.Exec, " ", strings.TrimPrefix(one.Dir, s.root)))
	}
	return all
}

// TestSnapshotsMoveToOtherMachines transfers snapshots to a second machine, where the repository is in another
// directory and the checkout at a later commit, and from there to a third. On the second machine, a restore
// reproduces the branch, the commits, the index and the files. On the third, a restore that would overwrite a change
// must fail.
func TestSnapshotsMoveToOtherMachines(t *testing.T) {
	t.Parallel()
	remote := ownRemote(t)
	first, dir, shots := started(t, remote)
	sh(t, dir, `git checkout -q -b fix; echo committed > a; git commit -qam 'not at the remote'; echo staged > dir/b; git add dir/b
		echo changed > dir/b; echo untracked > new`)
	take(t, shots, workspace.Snapshot{Exec: 1, Dir: dir})
	wantFirst := pictureOf(t, dir)
	write(t, dir, "new", "changed\n")
	take(t, shots, workspace.Snapshot{Exec: 2, Dir: dir})
	want := pictureOf(t, dir)
	bundle, c := packed(t, shots, mebi)
	assert.Check(t, is.Equal(c, (workspace.PackResult{Count: 3})), "packed")

	advance(t, remote)
	second := clone(t, remote, "--depth=1")
	shots = unpacked(t, bundle, first, second)
	for range 2 { // the second restore changes nothing
		notes, err := shots.Restore(t.Context(), workspace.SnapshotsBefore(listed(t, shots), 2)[0])
		assert.NilError(t, err)
		assert.Check(t, is.Len(notes, 0), "notes of the restore")
		sameAs(t, wantFirst, second.checkout())
	}
	take(t, shots, workspace.Snapshot{Exec: 2, IsStart: true, Dir: second.checkout()})
	write(t, second.checkout(), "b", "of the second\n")
	take(t, shots, workspace.Snapshot{Exec: 3, Dir: second.checkout()})
	bundle, _ = packed(t, shots, mebi)

	third := clone(t, remote)
	shots = unpacked(t, bundle, second, third)
	wantTold := []string{"0 /checkout", "1 /checkout", "2 /checkout", "2 /checkout", "3 /checkout"}
	assert.Check(t, is.DeepEqual(listedDirs(t, shots, third), wantTold), "snapshots on the third machine")
	for exec, want := range map[int][]string{1: {"changed a", "changed dir/b", "added new"}, 2: {"changed new"}, 3: {"added b"}} {
		assert.Check(t, is.DeepEqual(changes(t, shots, exec), want), "files changed by %d", exec)
	}
	list := listed(t, shots)
	write(t, third.checkout(), "new", "another change\n")
	to, now := filepath.Join(third.root, "again"), pictureOf(t, third.checkout())
	_, err := shots.Checkout(t.Context(), list[2], to)
	assert.NilError(t, err)
	got := pictureOf(t, to)
	got.Status = strings.Replace(got.Status, "# branch.head (detached)", "# branch.head fix", 1)
	assert.Check(t, is.DeepEqual(got, want), "new worktree on the third machine")
	_, err = shots.Restore(t.Context(), workspace.SnapshotsBefore(list, 2)[0])
	assert.Check(t, isConflict(err), "restore over a change: got %v, want a conflict", err)
	sameAs(t, now, third.checkout())
	git(t, to, "fsck", "--strict")
	_, err = shots.Checkout(t.Context(), list[2], to)
	assert.Check(t, isConflict(err), "checkout into a directory that isn't empty: got %v, want a conflict", err)
}

// TestNewestSnapshotsArePacked checks a bundle that has no room for all snapshots. It must contain the
// newest ones. The oldest of them then has no predecessor to compare with.
func TestNewestSnapshotsArePacked(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	s := clone(t, remote)
	shots := snapshots(t, new(workspace.Git))
	for i := range 8 {
		write(t, s.checkout(), "noise", noise(80_000)[i*10_000:(i+1)*10_000])
		take(t, shots, workspace.Snapshot{Exec: i + 1, Dir: s.checkout()})
	}
	bundle, c := packed(t, shots, 30_000)
	assert.Check(t, is.Equal(c, (workspace.PackResult{Count: 2, Dropped: 6})), "packed")
	assert.Check(t, len(read(t, bundle, "")) <= 30_000, "bundle")
	here := clone(t, remote)
	shots = unpacked(t, bundle, s, here)
	assert.Check(t, is.DeepEqual(listedDirs(t, shots, here), []string{"7 /checkout", "8 /checkout"}), "snapshots")
	assert.Check(t, is.DeepEqual(changes(t, shots, 8), []string{"changed noise"}), "files changed by 8")
	assert.Check(t, is.DeepEqual(changes(t, shots, 7), []string{"unknown"}), "files changed by 7: want nothing to compare with")

	// If not even one snapshot fits, Pack writes no bundle.
	to, c := packed(t, shots, 100)
	assert.Check(t, is.Equal(c, (workspace.PackResult{Dropped: 2})), "packed")
	_, err := os.Stat(to)
	assert.Check(t, is.ErrorIs(err, os.ErrNotExist))
}
