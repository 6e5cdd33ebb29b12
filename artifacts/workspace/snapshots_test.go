package workspace_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// forgedSnapshot returns the commit message of a snapshot of the site's checkout, for use in a forged commit.
func forgedSnapshot(s site, base string) string {
	return fmt.Sprintf(`{"exec":1,"seq":1,"dir":%q,"common":%q,"branch":"main","head":%q,"base":%[3]q}`,
		s.checkout(), filepath.Join(s.checkout(), ".git"), base)
}

// TestForgedSnapshots checks that Unpack rejects or skips forged snapshots.
func TestForgedSnapshots(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	other := clone(t, remote)
	const good = "as it should be"
	forgeries := map[string]forgery{
		good:                      {},
		"git's own folder":        {files: "040000 tree TREE\t.git\n"},
		"a branch":                {ref: "refs/heads/main"},
		"HEAD":                    {ref: "HEAD"},
		"a ref outside":           {ref: "refs/raymond/snapshots/../../heads/main"},
		"an option":               {ref: "--stdin"},
		"another number":          {ref: "refs/raymond/snapshots/2"},
		"an unknown commit":       {needs: strings.Repeat("12", 20)},
		"no commit":               {needs: "main"},
		"a missing file":          {files: "100644 blob " + strings.Repeat("12", 20) + "\tx\n"},
		"no message":              {about: "hello"},
		"a large message":         {about: strings.Repeat("x", 100<<10)},
		"another repository":      {about: forgedSnapshot(other, strings.Repeat("0", 40))},
		"a relative folder":       {about: `{"exec":1,"seq":1,"dir":"../x","common":"/x"}`},
		"a branch with an option": {about: `{"exec":1,"seq":1,"dir":"/x","common":"/x","branch":"--x"}`},
	}
	for _, name := range some(names(forgeries)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, f := clone(t, remote), forgeries[name]
			f.about, f.ref = cmp.Or(f.about, forgedSnapshot(s, head(t, s.checkout()))), cmp.Or(f.ref, "refs/raymond/snapshots/1")
			data, _ := f.bundle(t, clone(t, remote).checkout())
			write(t, s.root, workspace.BundleName, data)
			before := everything(t, s.checkout(), noObjects)
			at := filepath.Join(t.TempDir(), "snapshots.git")
			shots := (&workspace.Git{Limit: mebi}).OpenSnapshots(at)
			err := shots.Unpack(t.Context(), workspace.RestoreRequest{From: s.root}, []string{s.checkout()})
			list := listed(t, shots)
			assert.Check(t, is.Equal(len(list) == 1, name == good), "got %d snapshots and error %v", len(list), err)
			if err != nil {
				_, left := os.Lstat(at)
				assert.Check(t, is.ErrorIs(left, os.ErrNotExist), "a refused snapshot left files")
			} else {
				assert.Check(t, !strings.Contains(git(t, at, "for-each-ref"), "refs/heads"), "there is a ref outside of the snapshots")
			}
			assert.Check(t, is.DeepEqual(everything(t, s.checkout(), noObjects), before), "checkout")
		})
	}
}

// TestSnapshotsHaveAnInflatedLimit checks that Pack and Unpack reject a small bundle that would fill the
// disk.
func TestSnapshotsHaveAnInflatedLimit(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	s := clone(t, remote)
	shots := snapshots(t, new(workspace.Git))
	write(t, s.checkout(), "zeros", strings.Repeat("\x00", 8<<20))
	take(t, shots, workspace.Snapshot{Exec: 1, Dir: s.checkout()})
	_, c := packed(t, shots, mebi)
	assert.Check(t, is.Equal(c.Count, 0), "packed")
	bundle, _ := packed(t, shots, 16*mebi)
	here := clone(t, remote)
	there := snapshots(t, &workspace.Git{Limit: mebi})
	err := there.Unpack(t.Context(), workspace.RestoreRequest{From: filepath.Dir(bundle), Dir: relocated(s, here)}, []string{here.checkout()})
	assert.Check(t, is.ErrorContains(err, "when unpacked"), "unpacked")
}

// TestSnapshotsRunNothingOfAgents assumes that an agent can write to the repository of snapshots, because
// it is not confined. The test checks that the agent can't make git run a program.
func TestSnapshotsRunNothingOfAgents(t *testing.T) {
	t.Parallel()
	s := clone(t, sharedRemote(t))
	at := filepath.Join(t.TempDir(), "snapshots.git")
	shots := new(workspace.Git).OpenSnapshots(at)
	take(t, shots, workspace.Snapshot{IsStart: true, Dir: s.checkout()})
	mark := trap(t, s.root, at)
	write(t, at, "config", read(t, at, "config")+"[core]\n\trepositoryFormatVersion = 99\n") // a git that reads this setting fails
	shots = new(workspace.Git).OpenSnapshots(at)
	write(t, s.checkout(), "a", "changed\n")
	take(t, shots, workspace.Snapshot{Exec: 1, Dir: s.checkout()})
	_, err := shots.Changes(t.Context(), workspace.DiffLimits{File: mebi, Execution: mebi, All: mebi})
	assert.Check(t, err)
	packed(t, shots, mebi)
	list := listed(t, shots)
	assert.Assert(t, is.Len(list, 2), "snapshots")
	_, err = shots.Checkout(t.Context(), list[1], filepath.Join(s.root, "again"))
	assert.Check(t, err)
	_, err = os.Lstat(mark)
	assert.Check(t, is.ErrorIs(err, os.ErrNotExist), "git has run a program that the settings of the snapshots name")
}

// TestSnapshotsReportALargeFileBeforeReadingIt checks the error about a large file. The next snapshot must
// succeed after the file has been added to .gitignore.
func TestSnapshotsReportALargeFileBeforeReadingIt(t *testing.T) {
	t.Parallel()
	s, dir, shots := started(t, sharedRemote(t))
	write(t, dir, "core.dump", "")
	assert.NilError(t, os.Truncate(filepath.Join(dir, "core.dump"), 65<<20))
	err := shots.Take(t.Context(), workspace.Snapshot{Exec: 1, Dir: s.checkout()})
	assert.Check(t, is.ErrorIs(err, workspace.ErrTooLarge))
	assert.Check(t, is.ErrorContains(err, `"core.dump" has 65 MiB); remove files that no later state needs, or list them in .gitignore`))
	write(t, dir, ".gitignore", "core.dump\n")
	take(t, shots, workspace.Snapshot{Exec: 2, Dir: s.checkout()})
}

// TestSnapshotsHaveATotalLimit checks that Take fails when all snapshots of a run together are too large.
func TestSnapshotsHaveATotalLimit(t *testing.T) {
	t.Parallel()
	s := clone(t, sharedRemote(t))
	shots := snapshots(t, &workspace.Git{Limit: 8 << 10})
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		write(t, s.checkout(), "noise", noise(400_000)[n*4000:][:4000])
		err = shots.Take(t.Context(), workspace.Snapshot{Exec: n + 1, Dir: s.checkout()})
	}
	assert.Check(t, is.ErrorIs(err, workspace.ErrTooLarge), "after %d snapshots", n)
	assert.Check(t, n >= 16, "after %d snapshots: got %v, want ErrTooLarge", n, err)
}
