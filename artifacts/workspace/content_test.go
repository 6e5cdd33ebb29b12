package workspace_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// moveTo saves the work in directories of the site old and restores it in the site here. It returns the
// result of the save and the notes of the restore.
func moveTo(t *testing.T, old, here site, base string, dirs ...string) (workspace.SaveResult, []string) {
	t.Helper()
	to := t.TempDir()
	saved := save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: dirs, Base: base, To: to})
	return saved, mustRestore(t, to, old, here)
}

func TestOperationInProgressIsReported(t *testing.T) {
	t.Parallel()
	operations := map[string]string{
		"merge": "git merge -q side", "rebase": "git rebase -q side", "cherry-pick": "git cherry-pick side",
		"revert": "git revert --no-edit HEAD~2", "bisect": "git bisect start",
		"am": "git am -q $(git format-patch -1 -o .. side)",
	}
	for _, name := range some(names(operations)) {
		t.Run(name, func(t *testing.T) {
			remote := sharedRemote(t)
			old, here := clone(t, remote), clone(t, remote)
			dir, base := old.checkout(), head(t, old.checkout())
			sh(t, dir, "git checkout -q -b side; echo side > a; git commit -qam side; git checkout -q main; echo main > a; echo main > dir/b; git commit -qam main; "+
				operations[name]+" || true")
			saved, restored := moveTo(t, old, here, base, dir)
			same(t, dir, here.checkout())
			for _, notes := range [][]string{saved.Notes, restored} {
				assert.Check(t, is.Contains(strings.Join(notes, "; "), "git "+name+" "), "notes: got %q, want one on the %s", notes, name)
			}
		})
	}
}

// TestOtherRepositoriesAreRestored checks that work in a second repository and in a submodule is restored.
func TestOtherRepositoriesAreRestored(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	at := func() (s site, other, sub string) {
		s = clone(t, remote)
		other, sub = filepath.Join(s.root, "other"), filepath.Join(s.checkout(), "sub")
		git(t, s.root, "clone", "-q", "--depth=1", "file://"+remote, other)
		git(t, s.checkout(), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "file://"+remote, "sub")
		return s, other, sub
	}
	old, other, sub := at()
	// tree is a worktree in which the submodule is not checked out.
	tree, beside := filepath.Join(old.root, "tree"), filepath.Join(old.root, "beside other")
	sh(t, old.checkout(), `git commit -q -m submodule; git worktree add -q -b tree ../tree; echo changed > sub/a; cd ../other; echo changed > a
		git worktree add -q -b side "../beside other"; cd "../beside other"; echo new > new; git add new; git commit -q -m new`)
	to := t.TempDir()
	// The only working directory in other is in its linked worktree.
	saved := save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: []string{old.checkout(), filepath.Join(beside, "dir"), sub, tree}, To: to})
	assert.Check(t, saved.HasWork && !strings.Contains(strings.Join(saved.Notes, "\n"), "is not saved"), "saved: got held %t and notes %q", saved.HasWork, saved.Notes)
	there, _, _ := at()
	here := clone(t, remote) // a site in which the restore must create other
	lost := relocated(old, here)(tree)
	git(t, here.checkout(), "worktree", "add", "-q", "--detach", "--lock", lost)
	os.RemoveAll(lost)
	for _, s := range []site{there, here, here} {
		mustRestore(t, to, old, s)
		for _, dir := range []string{old.checkout(), other, beside, sub, tree} {
			same(t, dir, relocated(old, s)(dir))
		}
	}
	assert.Check(t, is.Equal(git(t, relocated(old, here)(beside), "log", "--format=%H"), git(t, beside, "log", "--format=%H")), "history")
}

func TestTreesAreSpelledLikeTheDirectories(t *testing.T) {
	old := clone(t, sharedRemote(t))
	link := filepath.Join(old.root, "by link")
	assert.NilError(t, os.Symlink("checkout", link))
	to := t.TempDir()
	save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: []string{filepath.Join(link, "dir"), old.checkout()}, To: to})
	trees, err := workspace.Trees(to)
	assert.NilError(t, err)
	assert.Check(t, is.DeepEqual(trees, []string{link}))
}

// TestLFSContentsAreNotSaved imitates a checkout with git LFS. It checks that a save doesn't contain the
// large contents, and that the filter of git LFS doesn't run.
func TestLFSContentsAreNotSaved(t *testing.T) {
	content := noise(1 << 20)
	pointer := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%x\nsize %d\n", sha256.Sum256([]byte(content)), len(content))
	dir := t.TempDir()
	seed := filepath.Join(dir, "seed")
	git(t, dir, "init", "-q", "-b", "main", seed)
	write(t, seed, "big.bin", pointer)
	sh(t, seed, "cp big.bin other.bin; echo '*.bin filter=lfs -text' > .gitattributes; git add -A; git commit -q -m large")
	old, here := clone(t, seed), clone(t, seed)
	base := head(t, old.checkout())
	for _, s := range []site{old, here} {
		write(t, s.checkout(), "big.bin", content)
		sh(t, s.checkout(), "cp big.bin other.bin; git config filter.lfs.clean 'exit 1'; git config filter.lfs.required true")
	}
	sh(t, old.checkout(), "echo x > x; echo changed > other.bin")
	to := t.TempDir()
	save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: []string{old.checkout()}, Base: base, To: to})
	got := len(read(t, to, "repo-0.bundle"))
	assert.Check(t, got <= 100<<10, "size of the save: got %d bytes, want less than the large file of %d", got, len(content))
	// For files that the agent staged or committed, a remote may have only the LFS pointer, or another
	// filter's output. So the contents of these files must be saved.
	sh(t, old.checkout(), `git config filter.enc.clean 'tr a-z A-Z'; mkdir -p .git/info; echo '*.enc filter=enc' > .git/info/attributes; echo plain > by.enc; git add by.enc
		git config filter.lfs.clean cat; id=$(git rev-parse HEAD:big.bin); cp big.bin committed.bin; cp big.bin staged.bin
		git update-index --add --cacheinfo 100644,$id,committed.bin; git commit -q -m large; git update-index --add --cacheinfo 100644,$id,staged.bin`)
	moveTo(t, old, here, base, old.checkout())
	for name, want := range map[string]string{"big.bin": content, "other.bin": "changed\n", "x": "x\n", "committed.bin": content, "staged.bin": content, "by.enc": "plain\n"} {
		assert.Check(t, is.Equal(read(t, here.checkout(), name), want), "file %s", name)
	}
}

func TestUnsavedWorkIsReported(t *testing.T) {
	remote := sharedRemote(t)
	old, here := clone(t, remote), clone(t, remote)
	dir, base := old.checkout(), head(t, old.checkout())
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "file://"+remote, "sub")
	sh(t, dir, `git commit -q -m submodule; echo changed > sub/a; echo stashed > a; git stash -q
		git init -q nested; echo x > nested/x; echo x > secret; chmod 0 secret`)
	written := t.TempDir()
	beside, clean := filepath.Join(written, "beside"), filepath.Join(written, "clean")
	sh(t, written, "git clone -q file://"+remote+" clean; git clone -q clean beside; git -C beside commit -q --allow-empty -m work; echo x > file")
	to := t.TempDir()
	saved := save(t, &workspace.Git{OutsideDirs: []string{written, filepath.Join(written, "gone")}}, workspace.SaveRequest{Dirs: []string{dir}, Base: base, To: to})
	mustRestore(t, to, old, here)
	notes := strings.Join(saved.Notes, "\n")
	assert.Check(t, !strings.Contains(notes, clean), notes)
	for _, want := range []string{`the work in submodule "sub" is not saved`, beside + ": the work in this repository is not saved", `"nested/" is a separate repository`, `"secret" is not saved: permission denied`} {
		assert.Check(t, strings.Contains(notes, want) || strings.Contains(want, "denied") && os.Getuid() == 0, "notes: got %q, want %q", notes, want)
	}
	assert.Check(t, is.Equal(head(t, here.checkout()), head(t, dir)), "HEAD")
	got := git(t, here.checkout(), "status", "--porcelain")
	assert.Check(t, !strings.Contains(got, " D "), "status: got %q, want no deleted submodule", got)
}

// TestTagsAndStashAreRestored checks that repeated restores create each tag and stash entry only once. A
// tag that has another value here must stay, and be reported. Tags that the checkout had at the start are
// not saved.
func TestTagsAndStashAreRestored(t *testing.T) {
	remote := ownRemote(t)
	git(t, remote, "tag", "released")
	old, here := clone(t, remote), clone(t, remote)
	dir, base, saved := old.checkout(), head(t, old.checkout()), t.TempDir()
	g := &workspace.Git{TagsDir: filepath.Join(t.TempDir(), "tags")}
	assert.Check(t, is.Equal(g.Base(t.Context(), dir, ""), base))
	assert.Check(t, !save(t, g, workspace.SaveRequest{Dirs: []string{dir}, Base: base}).HasWork, "tags of the checkout count as work")
	sh(t, dir, `git tag light; git tag -m about heavy; git tag taken; git commit -q --allow-empty -m lost; git tag away; git reset -q --hard HEAD^
		echo first > a; git stash -q; echo second > a; echo x > untracked; git stash -q -u; git -C . status --porcelain`)
	assert.Check(t, save(t, g, workspace.SaveRequest{Dirs: []string{dir}, Base: base, To: saved}).HasWork)
	git(t, here.checkout(), "tag", "taken", "HEAD^")
	taken := git(t, here.checkout(), "rev-parse", "taken")
	const all = "git for-each-ref refs/tags | grep -v taken; git stash list --format='%H %gs'"
	want, err := run(dir, "", "bash", "-c", all)
	assert.NilError(t, err)
	for range 2 {
		notes := strings.Join(mustRestore(t, saved, old, here), "\n")
		got, err := run(here.checkout(), "", "bash", "-c", all)
		assert.NilError(t, err)
		assert.Check(t, is.Equal(got, want))
		assert.Check(t, is.Equal(git(t, here.checkout(), "rev-parse", "taken"), taken))
		assert.Check(t, is.Contains(notes, `tag "taken" is at `+strings.TrimSpace(taken)+` here and was at `+base))
	}
	git(t, here.checkout(), "fsck", "--strict")
}

// TestSparseCheckoutsStaySparse checks that a restore creates no files outside of a sparse checkout.
func TestSparseCheckoutsStaySparse(t *testing.T) {
	remote := sharedRemote(t)
	old, here := clone(t, remote), clone(t, remote)
	base := head(t, old.checkout())
	for _, s := range []site{old, here} {
		git(t, s.checkout(), "sparse-checkout", "set", "--no-cone", "/a", "/new/")
	}
	sh(t, old.checkout(), "echo committed > a; git commit -qam a; mkdir new; echo untracked > new/x")
	moveTo(t, old, here, base, old.checkout())
	same(t, old.checkout(), here.checkout())
	_, err := os.Stat(filepath.Join(here.checkout(), "run.sh"))
	assert.Check(t, err != nil, "file outside of the sparse checkout: it exists")
}

// TestRepositoryWithoutCommits checks a repository that an agent has just created, without and with files.
func TestRepositoryWithoutCommits(t *testing.T) {
	old, here := site{t.TempDir()}, site{t.TempDir()}
	for _, s := range []site{old, here} {
		git(t, s.root, "init", "-q", "-b", "main", s.checkout())
	}
	saved, _ := moveTo(t, old, here, "", old.checkout())
	same(t, old.checkout(), here.checkout())
	assert.Check(t, !saved.HasWork, "held: got true, want false for an empty repository")
	sh(t, old.checkout(), "echo staged > a; git add a; echo changed > a; echo untracked > b")
	moveTo(t, old, here, "", old.checkout())
	same(t, old.checkout(), here.checkout())
}

// TestFilteredFilesOfAnotherCommitAreReported restores a save in a checkout of another commit. Files that
// have a filter must be written, but the filter must not run, and a note must report the files.
func TestFilteredFilesOfAnotherCommitAreReported(t *testing.T) {
	remote := ownRemote(t)
	other := clone(t, remote)
	sh(t, other.checkout(), "echo '*.bin filter=lfs' > .gitattributes; echo pointer > x.bin; git add -A; git commit -q -m bin; git push -q origin main")
	old := clone(t, remote)
	sh(t, other.checkout(), "echo later pointer > x.bin; git commit -qam bin; git push -q origin main")
	here := clone(t, remote)
	_, restored := moveTo(t, old, here, head(t, old.checkout()), old.checkout())
	assert.Check(t, is.Contains(strings.Join(restored, "\n"), `(files: 1, one is "x.bin"`))
	same(t, old.checkout(), here.checkout())
}
