package workspace_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

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
