package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// forgedShot is what the commit of a snapshot of a checkout says.
func forgedShot(s site, base string) string {
	return fmt.Sprintf(`{"exec":1,"seq":1,"dir":%q,"common":%q,"branch":"main","head":%q,"base":%[3]q}`,
		s.checkout(), filepath.Join(s.checkout(), ".git"), base)
}

// forging is how a bundle of snapshots is not as it should be.
type forging struct {
	ref   string // "": that of snapshot 1
	work  string // entries of its tree, as git mktree reads them; "": a file
	about string // "": as it should be
	needs string // "": the commit of the checkout
}

// forgeShots makes a bundle with one commit of its own making.
func forgeShots(t *testing.T, remote string, s site, f forging) string {
	t.Helper()
	dir := clone(t, remote).checkout()
	base := head(t, dir)
	entries := f.work
	if entries == "" {
		entries = "100644 blob BLOB\tevil\n"
	}
	entries = strings.ReplaceAll(entries, "BLOB", blob(t, dir, "evil"))
	entries = strings.ReplaceAll(entries, "TREE", mktree(t, dir, "100644 blob "+blob(t, dir, "evil")+"\tconfig\n"))
	work := mktree(t, dir, "040000 tree "+mktree(t, dir, entries)+"\twork\n")
	tree := mktree(t, dir, "040000 tree "+work+"\t0\n")
	about := f.about
	if about == "" {
		about = forgedShot(s, base)
	}
	commit := strings.TrimSpace(pipe(t, dir, about, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit-tree", "-p", base, tree))
	objects := git(t, dir, "rev-list", "--objects", "--missing=allow-any", "--no-object-names", commit, "^"+base)
	needs, ref := f.needs, f.ref
	if needs == "" {
		needs = base
	}
	if ref == "" {
		ref = "refs/raymond/snapshots/1"
	}
	data := "# v2 git bundle\n-" + needs + "\n" + commit + " " + ref + "\n\n" + pipe(t, dir, objects, "pack-objects", "-q", "--stdout")
	write(t, s.root, workspace.BundleName, data)
	return filepath.Join(s.root, workspace.BundleName)
}

// TestForgedSnapshots are refused, or have nothing that could be checked out.
func TestForgedSnapshots(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	other := clone(t, remote)
	forgeries := map[string]struct {
		forging
		isGood bool
	}{
		"as it should be":         {isGood: true},
		"git's own folder":        {forging: forging{work: "040000 tree TREE\t.git\n"}},
		"the same, in capitals":   {forging: forging{work: "040000 tree TREE\t.GIT\n"}},
		"the folder above":        {forging: forging{work: "040000 tree TREE\t..\n"}},
		"a branch":                {forging: forging{ref: "refs/heads/main"}},
		"HEAD":                    {forging: forging{ref: "HEAD"}},
		"a ref outside":           {forging: forging{ref: "refs/raymond/snapshots/../../heads/main"}},
		"an option":               {forging: forging{ref: "--stdin"}},
		"another number":          {forging: forging{ref: "refs/raymond/snapshots/2"}},
		"an unknown commit":       {forging: forging{needs: strings.Repeat("12", 20)}},
		"no commit":               {forging: forging{needs: "main"}},
		"a missing file":          {forging: forging{work: "100644 blob " + strings.Repeat("12", 20) + "\tx\n"}},
		"no message":              {forging: forging{about: "hello"}},
		"a large message":         {forging: forging{about: strings.Repeat("x", 100<<10)}},
		"another repository":      {forging: forging{about: forgedShot(other, strings.Repeat("0", 40))}},
		"a relative folder":       {forging: forging{about: `{"exec":1,"seq":1,"dir":"../x","common":"/x"}`}},
		"a branch with an option": {forging: forging{about: `{"exec":1,"seq":1,"dir":"/x","common":"/x","branch":"--x"}`}},
	}
	for _, name := range some(names(forgeries)) {
		test := forgeries[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := clone(t, remote)
			bundle := forgeShots(t, remote, s, test.forging)
			before := withoutObjects(t, s.checkout())
			at := filepath.Join(t.TempDir(), "snapshots.git")
			shots := (&workspace.Git{Limit: mebi}).OpenSnapshots(at)
			err := shots.Unpack(t.Context(), workspace.Restoring{From: filepath.Dir(bundle)}, []string{s.checkout()})
			list, listErr := shots.List(t.Context())
			assert.NilError(t, listErr)
			assert.Check(t, is.Equal(len(list) == 1, test.isGood), "got %d snapshots and error %v, want any: %v", len(list), err, test.isGood)
			if _, left := os.Lstat(at); err != nil && !errors.Is(left, os.ErrNotExist) {
				t.Error("what was refused is still there")
			}
			if err == nil && strings.Contains(git(t, at, "for-each-ref"), "refs/heads") {
				t.Error("there is a ref that is no snapshot's")
			}
			after := withoutObjects(t, s.checkout())
			for path, was := range before {
				assert.Check(t, is.Equal(after[path], was), "%s has changed", path)
			}
		})
	}
}

// TestSnapshotsAreWeighedAsUnpacked: a small bundle that would fill the disk is refused.
func TestSnapshotsAreWeighedAsUnpacked(t *testing.T) {
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
	err := there.Unpack(t.Context(), workspace.Restoring{From: filepath.Dir(bundle), Dir: relocated(s, here)}, []string{here.checkout()})
	assert.Check(t, is.ErrorContains(err, "when unpacked"), "unpacked")
}

// TestSnapshotsRunNothingOfAgents: who can write to the repository of the snapshots, for one
// because nothing is confined, can't have git run a program.
func TestSnapshotsRunNothingOfAgents(t *testing.T) {
	t.Parallel()
	s := clone(t, sharedRemote(t))
	at := filepath.Join(t.TempDir(), "snapshots.git")
	shots := new(workspace.Git).OpenSnapshots(at)
	take(t, shots, workspace.Snapshot{IsStart: true, Dir: s.checkout()})
	trap := filepath.Join(s.root, "trapped")
	program := filepath.Join(s.root, "evil")
	write(t, s.root, "evil", "#!/bin/sh\necho x >> "+trap+"\n")
	assert.NilError(t, os.Chmod(program, 0o777))
	// A git that reads the settings would give up at the version.
	config := "[core]\n\trepositoryFormatVersion = 99\n\tbare = true\n[diff]\n\texternal = " + program + "\n[diff \"evil\"]\n\tcommand = " + program + "\n\ttextconv = " + program +
		"\n[core]\n\tfsmonitor = " + program + "\n\tpager = " + program + "\n\thooksPath = " + s.root + "\n\talternateRefsCommand = " + program +
		"\n[filter \"evil\"]\n\tsmudge = " + program + "\n\tclean = " + program + "\n[uploadpack]\n\tpackObjectsHook = " + program + "\n"
	write(t, at, "config", config)
	write(t, at, "info/attributes", "* diff=evil filter=evil\n")
	for _, hook := range []string{"reference-transaction", "post-checkout", "post-index-change"} {
		write(t, at, "hooks/"+hook, "#!/bin/sh\necho x >> "+trap+"\n")
		assert.NilError(t, os.Chmod(filepath.Join(at, "hooks", hook), 0o777))
	}
	shots = new(workspace.Git).OpenSnapshots(at)
	write(t, s.checkout(), "a", "changed\n")
	take(t, shots, workspace.Snapshot{Exec: 1, Dir: s.checkout()})
	if _, err := shots.Changes(t.Context(), workspace.Most{File: mebi, Execution: mebi, All: mebi}); err != nil {
		t.Error(err)
	}
	packed(t, shots, mebi)
	list, err := shots.List(t.Context())
	assert.NilError(t, err, "snapshots")
	assert.Assert(t, is.Len(list, 2), "snapshots")
	_, err = shots.Checkout(t.Context(), list[1], filepath.Join(s.root, "again"))
	assert.Check(t, err)
	_, err = os.Lstat(trap)
	assert.Check(t, is.ErrorIs(err, os.ErrNotExist), "git has run a program that the settings of the snapshots name")
}

// TestSnapshotsHaveAnEnd: a run whose snapshots fill the disk gets no more.
func TestSnapshotsHaveAnEnd(t *testing.T) {
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
