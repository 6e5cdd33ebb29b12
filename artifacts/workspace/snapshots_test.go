package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// snapshots returns the empty list of snapshots of a new run.
func snapshots(t testing.TB, g *workspace.Git) *workspace.Snapshots {
	t.Helper()
	return g.OpenSnapshots(filepath.Join(t.TempDir(), "run", "snapshots.git"))
}

// take takes a snapshot.
func take(t testing.TB, s *workspace.Snapshots, shot workspace.Snapshot) {
	t.Helper()
	assert.NilError(t, s.Take(context.Background(), shot))
}

// started returns a checkout of a remote, and the snapshots of a run that was started in it.
func started(t testing.TB, remote string) (s site, dir string, shots *workspace.Snapshots) {
	t.Helper()
	s, shots = clone(t, remote), snapshots(t, new(workspace.Git))
	take(t, shots, workspace.Snapshot{IsStart: true, Dir: s.checkout()})
	return s, s.checkout(), shots
}

// listed returns the list of all snapshots.
func listed(t testing.TB, s *workspace.Snapshots) []workspace.Snapshot {
	t.Helper()
	list, err := s.List(context.Background())
	assert.NilError(t, err)
	return list
}

// changes returns the files that a state execution changed. It returns "unknown" if there is nothing to
// compare with.
func changes(t testing.TB, s *workspace.Snapshots, exec int) []string {
	t.Helper()
	found, err := s.Changes(context.Background(), workspace.DiffLimits{})
	assert.NilError(t, err)
	list, isKnown := found[exec]
	if !isKnown {
		return []string{"unknown"}
	}
	var all []string
	for _, c := range list.Files {
		all = append(all, c.What+" "+c.Path)
	}
	return all
}

// TestSnapshotsReportChanges checks which changes are found between two snapshots: committed, staged and
// other changes. Snapshots must not write to the agents' repository.
func TestSnapshotsReportChanges(t *testing.T) {
	t.Parallel()
	_, dir, _ := checkout(t)
	write(t, dir, "untracked", "before\n")
	before := everything(t, dir, allObjects)
	shots := snapshots(t, new(workspace.Git))
	take(t, shots, workspace.Snapshot{IsStart: true, Dir: dir})
	assert.Check(t, is.DeepEqual(everything(t, dir, allObjects), before), "a snapshot has written to the checkout")

	sh(t, dir, "echo changed > a; echo new > dir/new; echo x > ignored")
	take(t, shots, workspace.Snapshot{Exec: 1, Agent: "main", State: "ONE.md", Dir: filepath.Join(dir, "dir")})

	commit(t, dir)
	take(t, shots, workspace.Snapshot{Exec: 2, Agent: "main", State: "TWO.md", Dir: dir})

	sh(t, dir, "rm untracked; ln -sf dir a")
	take(t, shots, workspace.Snapshot{Exec: 5, Agent: "main.1", State: "THREE.md", Dir: dir, IsShared: true})

	for exec, want := range map[int][]string{
		1: {"changed a", "added dir/new"},
		2: nil,
		3: {"unknown"},
		5: {"changed a", "deleted untracked"},
	} {
		assert.Check(t, is.DeepEqual(changes(t, shots, exec), want), "files changed by %d", exec)
	}
	list := listed(t, shots)
	want := []workspace.Snapshot{
		{IsStart: true, Seq: 1}, {Exec: 1, Agent: "main", State: "ONE.md", Seq: 2}, {Exec: 2, Agent: "main", State: "TWO.md", Seq: 3},
		{Exec: 5, Agent: "main.1", State: "THREE.md", IsShared: true, Seq: 4},
	}
	assert.Check(t, is.DeepEqual(list, want, cmpopts.IgnoreUnexported(workspace.Snapshot{}), cmpopts.IgnoreFields(workspace.Snapshot{}, "Dir", "Common", "Branch", "Head", "After", "Base")), "snapshots")
}

// TestSnapshotsHaveDiffs checks the diffs of text files, binary files and links.
func TestSnapshotsHaveDiffs(t *testing.T) {
	t.Parallel()
	_, dir, shots := started(t, sharedRemote(t))
	sh(t, dir, `printf 'changed\ndiff --git a/x b/x\n' > a; printf '\x00\x01' > binary; echo b of four > dir/b; rm link run.sh; echo no link > link; echo last > z`)
	take(t, shots, workspace.Snapshot{Exec: 1, Dir: dir})

	all, err := shots.Changes(t.Context(), workspace.DiffLimits{File: 1 << 10, Execution: 1 << 20, All: 1 << 20})
	assert.NilError(t, err)
	want := []workspace.Change{
		{Path: "a", What: "changed", Diff: "@@ -1 +1,2 @@\n-three\n+changed\n+diff --git a/x b/x\n"},
		{Path: "binary", What: "added", IsBinary: true},
		{Path: "dir/b", What: "changed", Diff: "@@ -1 +1 @@\n-b of three\n+b of four\n"},
		{Path: "link", What: "changed", Diff: "@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n@@ -0,0 +1 @@\n+no link\n"},
		{Path: "run.sh", What: "deleted", Diff: "@@ -1 +0,0 @@\n-#!/bin/sh\n"},
		{Path: "z", What: "added", Diff: "@@ -0,0 +1 @@\n+last\n"},
	}
	assert.Check(t, is.DeepEqual(all[1].Files, want, cmpopts.IgnoreUnexported(workspace.Change{})), "diffs")
}

// TestNewestSnapshotsHaveDiffs checks that the newest executions get diffs if the limits don't allow all
// diffs. The changed files must be listed for all executions.
func TestNewestSnapshotsHaveDiffs(t *testing.T) {
	t.Parallel()
	_, dir, shots := started(t, sharedRemote(t))
	for exec := range 5 {
		if exec != 2 { // this execution changes nothing
			sh(t, dir, fmt.Sprintf("echo of execution %d | tee x > y", exec))
		}
		take(t, shots, workspace.Snapshot{Exec: exec, IsStart: exec == 0, Dir: dir, IsShared: exec == 4})
	}
	all, err := shots.Changes(t.Context(), workspace.DiffLimits{File: 100, Execution: 150, All: 260})
	assert.NilError(t, err)
	diff := func(before, after int) string {
		return fmt.Sprintf("@@ -1 +1 @@\n-of execution %d\n+of execution %d\n", before, after)
	}
	want := map[int]workspace.Changes{
		4: {Files: []workspace.Change{{Path: "x", What: "changed", Diff: diff(3, 4)}, {Path: "y", What: "changed", Diff: diff(3, 4)}}, IsShared: true},
		3: {Files: []workspace.Change{{Path: "x", What: "changed", Diff: diff(1, 3)}, {Path: "y", What: "changed", Diff: diff(1, 3)}}},
		2: {},
		1: {Files: []workspace.Change{{Path: "x", What: "changed", Diff: diff(0, 1)}, {Path: "y", What: "changed", Diff: "@@ -1 +1 @@\n-of execution 0\n", IsCut: true}}},
	}
	assert.Check(t, is.DeepEqual(all, want, cmpopts.IgnoreUnexported(workspace.Change{})), "changes")
	few, err := shots.Changes(t.Context(), workspace.DiffLimits{File: 100, Execution: 60, All: 1 << 20})
	assert.NilError(t, err)
	for exec := range 4 {
		if f := few[exec+1].Files; len(f) > 0 && (f[0].IsCut || !f[1].IsCut) {
			t.Errorf("execution %d, with room for one diff: got %+v", exec+1, f)
		}
	}
}

// TestSnapshotsAfterAnOlderStateAreReplaced resumes a run from a state that is older than its snapshots.
// Later snapshots must be removed, and the next snapshot is compared with the files at the resumption.
// Files that a killed git left must not prevent a snapshot.
func TestSnapshotsAfterAnOlderStateAreReplaced(t *testing.T) {
	t.Parallel()
	s, dir, _ := checkout(t)
	at := filepath.Join(t.TempDir(), "snapshots.git")
	shots := new(workspace.Git).OpenSnapshots(at)
	take(t, shots, workspace.Snapshot{IsStart: true, Dir: dir})
	for exec := range 4 {
		write(t, dir, "a", fmt.Sprintf("first time, %d\n", exec+1))
		take(t, shots, workspace.Snapshot{Exec: exec + 1, Dir: dir})
	}
	sh(t, at, "touch refs/raymond/snapshots/3.lock objects/info/alternates.lock objects/pack/tmp_pack_x")
	write(t, dir, "a", "of another process\n")

	shots = new(workspace.Git).OpenSnapshots(at)
	take(t, shots, workspace.Snapshot{Exec: 2, IsStart: true, Dir: dir})
	write(t, dir, "b", "second time, 3\n")
	take(t, shots, workspace.Snapshot{Exec: 3, Dir: dir})
	list := listed(t, shots)
	var got []string
	for _, one := range list {
		got = append(got, fmt.Sprint(one.Exec, one.IsStart))
	}
	assert.Check(t, is.DeepEqual(got, []string{"0 true", "1 false", "2 false", "2 true", "3 false"}), "snapshots")
	assert.Check(t, is.DeepEqual(changes(t, shots, 3), []string{"added b"}), "files changed by 3")
	before := workspace.SnapshotsBefore(list, 3)
	assert.Assert(t, is.Len(before, 1), "before 3")
	_, err := shots.Checkout(t.Context(), before[0], filepath.Join(s.root, "again"))
	assert.NilError(t, err)
	assert.Check(t, is.Equal(read(t, s.root, "again/a"), "of another process\n"), "a")
	for _, half := range []string{"objects/info/alternates.lock", "objects/pack/tmp_pack_x"} {
		_, err := os.Lstat(filepath.Join(at, half))
		assert.Check(t, is.ErrorIs(err, os.ErrNotExist), "%s is still there", half)
	}
}
