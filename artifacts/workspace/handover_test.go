//go:build unix

package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

var handedAt = time.Unix(1_700_000_000, 0)

// handed hands over work and returns the new repository and the list of omitted work.
func handed(t *testing.T, g *workspace.Git, h workspace.HandOverRequest) (repository, missing string) {
	t.Helper()
	h.Date, h.To = handedAt, t.TempDir()
	got, err := g.HandOver(t.Context(), h)
	assert.NilError(t, err)
	return got.Repository, read(t, filepath.Dir(got.MissingList), filepath.Base(got.MissingList))
}

// shows checks which files a branch changes compared with HEAD, and their modes.
func shows(t *testing.T, repository, branch, want string) {
	t.Helper()
	out := git(t, repository, "diff", "--raw", "--no-renames", "--abbrev=4", "HEAD", branch)
	var got []string
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		got = append(got, f[4]+" "+f[1]+" "+f[5])
	}
	assert.Check(t, is.DeepEqual(strings.Join(got, "\n"), want), "what %s changes", branch)
}

// TestWorkIsHandedOver checks the hand-over of committed, staged, changed, new and deleted files, and of
// the work of other agents. A second hand-over must give the same hashes, the branches can be pushed, and
// the agents' repository must stay unchanged.
func TestWorkIsHandedOver(t *testing.T) {
	t.Parallel()
	for _, depth := range []string{"--depth=1", "--no-single-branch"} {
		s, dir, base := checkout(t, depth)
		beside := filepath.Join(s.root, "beside")
		write(t, dir, "mine", "from before\n")
		write(t, dir, "ignored", "from before\n")
		known, err := new(workspace.Git).Untracked(t.Context(), dir)
		assert.NilError(t, err, "untracked")
		assert.Assert(t, is.Len(known, 2), "untracked")
		sh(t, dir, `git worktree add -q -b side ../beside; echo beside > ../beside/b; echo committed > a; git commit -qam work; echo staged | tee crlf > 'staged then gone'
			git add crlf 'staged then gone'; rm 'staged then gone' link; mkdir new .github; echo new > 'new/x y'; echo new > .github/x; chmod 666 run.sh; rm -r dir; ln -s new dir`)
		before := everything(t, s.root, noObjects)
		h := workspace.HandOverRequest{Dir: filepath.Join(dir, "new"), Others: map[string]string{"b": beside, "same": dir, "gone": "/nowhere"}, Base: base, UntrackedBefore: known}
		repository, missing := handed(t, new(workspace.Git), h)
		assert.Check(t, is.DeepEqual(everything(t, s.root, noObjects), before), "the agents' folders")
		shows(t, repository, "work", "M 100644 a\nM 100644 crlf\nA 120000 dir\nD 000000 dir/b\nD 000000 link\nA 100644 new/x\nM 100644 run.sh")
		shows(t, repository, "raymond/b", "A 100644 b")
		log := git(t, repository, "log", "--format=%an %ae %ad %cn %s", "--date=iso-strict", "HEAD..work")
		const last = "github-actions[bot] 41898282+github-actions[bot]@users.noreply.github.com 2023-11-14T22:13:20+00:00 github-actions[bot] raymond: uncommitted work\n"
		assert.Check(t, strings.HasPrefix(log, last) && strings.Count(log, "\n") == 2, "log: got %s, want first %s and one commit of the agent", log, last)
		assert.Check(t, is.Equal(missing, ".github/x: files that forges run are handed over only with workflows=true\nmine: it existed before the first agent and was not committed\nraymond/gone:/nowhere: it is in no worktree of the repository\n"))
		assert.Check(t, is.Equal(head(t, repository), base), "HEAD")
		again, _ := handed(t, new(workspace.Git), h)
		assert.Check(t, is.DeepEqual(branches(t, again), branches(t, repository)), "branches the second time")
		remote := ownRemote(t)
		git(t, repository, "push", "-q", "file://"+remote, "work:refs/heads/fix-12", "raymond/b:refs/heads/b")
		git(t, remote, "fsck", "--connectivity-only")
		assert.Check(t, is.Equal(git(t, remote, "rev-parse", "fix-12"), git(t, repository, "rev-parse", "work")), "pushed")
		for _, name := range []string{"hooks", "objects/info/alternates", "logs", "FETCH_HEAD"} {
			_, err := os.Lstat(filepath.Join(repository, name))
			assert.Check(t, err != nil, "%s exists", name)
		}
		config := git(t, repository, "config", "--local", "--name-only", "--list")
		assert.Check(t, !strings.Contains(config, "remote."), "settings: got %s, want no remote", config)
	}
}

// TestWorkOutsideOfTheCheckoutsHistory checks hand-overs if HEAD is behind the checkout's commit or
// unrelated to it.
func TestWorkOutsideOfTheCheckoutsHistory(t *testing.T) {
	t.Parallel()
	first := strings.TrimSpace(git(t, sharedRemote(t), "rev-list", "--max-parents=0", "main"))
	for name, script := range map[string]string{
		"nothing": "",
		"behind":  "git reset -q --hard HEAD~1",
		"older":   "git reset -q --hard HEAD~1; git commit -q --allow-empty -m x",
		"orphan":  "git checkout -q --orphan x; git commit -q -m x",
		"merged":  "git checkout -q -b x HEAD~1; git commit -q --allow-empty -m x; git merge -q --no-edit main",
	} {
		_, dir, base := checkout(t, map[bool]string{true: "--depth=2", false: "--no-single-branch"}[name != "merged"])
		sh(t, dir, script)
		repository, missing := handed(t, new(workspace.Git), workspace.HandOverRequest{Dir: dir, Base: base})
		assert.Check(t, is.Equal(git(t, repository, "rev-parse", "work")+missing, git(t, dir, "rev-parse", "HEAD")), "%s: branch", name)
		assert.Check(t, is.Equal(head(t, repository), base), "%s: HEAD", name)
		_, err := try(repository, "cat-file", "-e", first)
		assert.Check(t, err != nil, "%s: the history goes back to its beginning", name)
		remote := ownRemote(t)
		_, err = try(repository, "push", "-q", "file://"+remote, "work:refs/heads/x")
		assert.Check(t, err, "%s: %v", name, err)
	}
	for name, test := range map[string]workspace.HandOverRequest{
		"outside of git":          {Dir: t.TempDir()},
		"no commit of a checkout": {Dir: clone(t, sharedRemote(t)).checkout()},
		"one of elsewhere":        {Dir: clone(t, sharedRemote(t)).checkout(), Base: head(t, otherRemote(t, "x"))},
	} {
		test.To = t.TempDir()
		_, err := new(workspace.Git).HandOver(t.Context(), test)
		assert.Check(t, err != nil, "%s: got no error", name)
	}
}

// TestFilesAreAddedAsGitAddsThem checks that a hand-over converts line ends, and runs no filters.
func TestFilesAreAddedAsGitAddsThem(t *testing.T) {
	t.Parallel()
	s, dir, base := checkout(t)
	mark := filepath.Join(s.root, "mark")
	sh(t, dir, `git config core.autocrlf true; git config filter.odd.clean "touch '`+mark+`'; echo odd"; printf '1\r\n2\r\n' > a; printf '1\r\n' > kept; echo plain > filtered
		printf 'kept -text\nfiltered filter=odd\n' > .gitattributes`)
	repository, _ := handed(t, new(workspace.Git), workspace.HandOverRequest{Dir: dir, Base: base})
	for name, want := range map[string]string{"a": "1\n2\n", "kept": "1\r\n", "filtered": "plain\n"} {
		assert.Check(t, is.Equal(git(t, repository, "show", "work:"+name), want), name)
	}
	_, err := os.Lstat(mark)
	assert.Check(t, err != nil, "a filter was run")
}

// TestOmissionsAreListed checks that the list of omitted work contains files of git LFS, submodules and
// nested repositories. A name that a job log would interpret must be escaped.
func TestOmissionsAreListed(t *testing.T) {
	t.Parallel()
	_, dir, _ := checkout(t)
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "file://"+sharedRemote(t), "sub")
	sh(t, dir, "echo version 1 > old.bin; echo '*.bin filter=lfs -text' > .gitattributes; git add -A; git commit -q -m base")
	base := head(t, dir)
	sh(t, dir, `echo version 2 > committed.bin; git add committed.bin; git commit -q -m work; echo large | tee old.bin > new.bin; echo changed > sub/a
		git init -q nested; echo x > nested/x; echo x | tee $'::error::x\n.bin' > plain`)
	repository, missing := handed(t, new(workspace.Git), workspace.HandOverRequest{Dir: dir, Base: base})
	shows(t, repository, "work", "A 100644 committed.bin\nA 100644 plain")
	want := ": :error::x\\n.bin: git LFS keeps its content\ncommitted.bin: git LFS keeps its content\nnested/: it is a separate repository or not a regular file\n" +
		"new.bin: git LFS keeps its content\nold.bin: git LFS keeps its content\nsub: the work in the submodule\n"
	assert.Check(t, is.Equal(missing, want), "missing")
}

// TestForgeFilesAreNotHandedOver checks that files which forges run are left out, whether they are new,
// staged, committed, or committed and reverted. With Workflows they must be handed over.
func TestForgeFilesAreNotHandedOver(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"new":             "",
		"staged":          "git add -A; rm -r .github",
		"a link":          "rm -r .github; ln -s dir .github",
		"committed":       "git add -A; git commit -q -m x",
		"taken back":      "mv .github .circleCI; git add -A; git commit -q -m x; git rm -qr .circleCI; git commit -q -m y",
		"without history": "git checkout -q --orphan x; git add -A; git commit -q -m x",
		"other forges":    "mv .github .GitHub; mkdir -p .gitea/x .Forgejo .woodpecker .circleCI; for f in .gitea/x/y .Forgejo/y .woodpecker/y .circleCI/y .gitlab-ci.YML .woodpecker.yml; do echo x > $f; done; git add -A; git commit -q -m x",
	} {
		_, dir, base := checkout(t)
		sh(t, dir, "mkdir -p .github/workflows; echo evil > .github/workflows/evil.yml; "+script+"\necho x > plain")
		repository, missing := handed(t, new(workspace.Git), workspace.HandOverRequest{Dir: dir, Base: base})
		shows(t, repository, "work", "A 100644 plain")
		assert.Check(t, is.Equal(strings.TrimSpace(git(t, repository, "log", "--format=", "--name-only", "HEAD..work")), "plain"), "%s: commits change", name)
		assert.Check(t, is.Contains(missing, "forges run"), "%s: missing", name)
		repository, missing = handed(t, new(workspace.Git), workspace.HandOverRequest{Dir: dir, Base: base, Workflows: true})
		assert.Check(t, is.Equal(git(t, repository, "log", "--format=%P", "-1", "work")+missing, git(t, dir, "rev-parse", "HEAD")), "%s: with workflows: on top of", name)
	}
}

// TestPoisonedRepositoryIsHandedOverClean checks that a hand-over ignores settings, hooks, links, replaced
// and grafted commits, and pointers to another repository, or fails because of them.
func TestPoisonedRepositoryIsHandedOverClean(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script   string // script that runs in the checkout; $SECRET is the path of another repository
		isDenied bool
	}{
		"settings and hooks": {},
		"worktree":           {script: "git config core.worktree $SECRET"},
		"worktree around":    {script: `git config core.worktree "$(dirname $PWD)"`},
		"include":            {script: "git config include.path $SECRET/.git/config"},
		"replaced":           {script: "git replace HEAD HEAD~1"},
		"grafts":             {script: "mkdir .git/info; git rev-parse HEAD > .git/info/grafts"},
		"alternates":         {isDenied: true, script: "echo $SECRET/.git/objects > .git/objects/info/alternates; git reset -q --hard $(git -C $SECRET rev-parse HEAD)"},
		"linked objects":     {isDenied: true, script: "rm -r .git/objects; ln -s $SECRET/.git/objects .git/objects; git -C $SECRET rev-parse HEAD > .git/HEAD"},
		"a file":             {isDenied: true, script: "rm -r .git; echo gitdir: $SECRET/.git > .git"},
		"a link":             {isDenied: true, script: "rm -r .git; ln -s $SECRET/.git .git"},
		"a linked directory": {isDenied: true, script: "rm -r $PWD; ln -s $SECRET $PWD"},
		"a common folder":    {isDenied: true, script: "echo $SECRET/.git > .git/commondir"},
		"a submodule above": {script: `git config user.name a; ln -s $SECRET sub
			printf '160000 %s\tsub\n' $(git -C $SECRET rev-parse HEAD) | git update-index --index-info`},
	} {
		t.Run(name, func(t *testing.T) {
			s, secret := clone(t, sharedRemote(t)), clone(t, sharedRemote(t)).checkout()
			write(t, secret, "secret", "secret\n")
			commit(t, secret)
			base := head(t, s.checkout())
			write(t, s.checkout(), "a", "changed\n")
			write(t, s.root, "outside", "secret\n")
			if test.script == "" {
				trap(t, s.root, filepath.Join(s.checkout(), ".git"))
			}
			sh(t, s.checkout(), "SECRET="+secret+"\n"+test.script)
			to := t.TempDir()
			got, err := (&workspace.Git{Workspace: s.root}).HandOver(t.Context(), workspace.HandOverRequest{Dir: s.checkout(), Base: base, Date: handedAt, To: to})
			_, ran := os.Lstat(filepath.Join(s.root, "mark"))
			assert.Check(t, ran != nil, "something of the repository was run")
			assert.Equal(t, err != nil, test.isDenied, "got error %v, want one: %t", err, test.isDenied)
			if err != nil {
				return
			}
			assert.Check(t, !strings.Contains(git(t, got.Repository, "cat-file", "--batch-all-objects", "--batch"), "secret\n"), "a file of another repository is handed over")
			assert.Check(t, is.Equal(git(t, got.Repository, "show", "work:a"), "changed\n"), "a")
			git(t, got.Repository, "fsck", "--full")
		})
	}
}

// TestHandOverObeysItsLimit checks that the limit applies to committed and to uncommitted files, and that a small pack
// is rejected whose objects are large when unpacked.
func TestHandOverObeysItsLimit(t *testing.T) {
	t.Parallel()
	_, dir, base := checkout(t)
	g := &workspace.Git{}
	g.Handed(64 << 10)
	write(t, dir, "noise", noise(100<<10))
	for _, isCommitted := range []bool{false, true} {
		if isCommitted {
			commit(t, dir)
		}
		_, err := g.HandOver(t.Context(), workspace.HandOverRequest{Dir: dir, Base: base, To: t.TempDir()})
		assert.Check(t, is.ErrorContains(err, "64 KiB"), "want an error that names the limit")
	}
	git(t, dir, "reset", "-q", "--hard", base)
	write(t, dir, "zeros", manyZeros(1))
	commit(t, dir)
	_, err := g.HandOver(t.Context(), workspace.HandOverRequest{Dir: dir, Base: base, To: t.TempDir()})
	assert.Check(t, is.ErrorContains(err, "when unpacked"), "a small pack of zeros")
}
