//go:build unix

package workspace_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
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

// handed is the repository of the work, and what it lacks.
func handed(t *testing.T, g *workspace.Git, h workspace.Handing) (repository, lacks string) {
	t.Helper()
	h.At, h.To = handedAt, t.TempDir()
	got, err := g.HandOver(t.Context(), h)
	assert.NilError(t, err)
	return got.Repository, read(t, filepath.Dir(got.Lacks), filepath.Base(got.Lacks))
}

// shows compares what a branch changes, with modes, with what it should.
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

// TestTheWorkIsHandedOver: what is committed, staged, changed, new and deleted, and what others did, and twice the
// same. It can be pushed, and nothing is written to the agents' repository.
func TestTheWorkIsHandedOver(t *testing.T) {
	t.Parallel()
	for _, depth := range []string{"--depth=1", "--no-single-branch"} {
		s, dir, base := checkout(t, depth)
		beside := filepath.Join(s.root, "beside")
		write(t, dir, "mine", "from before\n")
		write(t, dir, "ignored", "from before\n")
		known, err := new(workspace.Git).Untracked(t.Context(), dir)
		assert.NilError(t, err, "untracked")
		assert.Assert(t, is.Len(known, 2), "untracked")
		git(t, dir, "worktree", "add", "-q", "-b", "side", beside)
		write(t, beside, "b", "beside\n")
		write(t, dir, "a", "committed\n")
		git(t, dir, "commit", "-q", "-a", "-m", "work")
		write(t, dir, "crlf", "staged\n")
		git(t, dir, "add", "crlf")
		write(t, dir, "staged then gone", "x\n")
		git(t, dir, "add", "staged then gone")
		os.Remove(filepath.Join(dir, "staged then gone"))
		write(t, dir, "new/x y", "new\n")
		write(t, dir, ".github/x", "new\n")
		os.Remove(filepath.Join(dir, "link"))
		os.Chmod(filepath.Join(dir, "run.sh"), 0o666)
		os.RemoveAll(filepath.Join(dir, "dir"))
		os.Symlink("new", filepath.Join(dir, "dir"))
		before := everything(t, s.root, noObjects)
		h := workspace.Handing{Dir: filepath.Join(dir, "new"), Others: map[string]string{"b": beside, "same": dir, "gone": "/nowhere"}, Base: base, Known: known}
		repository, lacks := handed(t, new(workspace.Git), h)
		assert.Check(t, is.DeepEqual(everything(t, s.root, noObjects), before), "the agents' folders")
		shows(t, repository, "work", "M 100644 a\nM 100644 crlf\nA 120000 dir\nD 000000 dir/b\nD 000000 link\nA 100644 new/x\nM 100644 run.sh")
		shows(t, repository, "raymond/b", "A 100644 b")
		log := git(t, repository, "log", "--format=%an %ae %ad %cn %s", "--date=iso-strict", "HEAD..work")
		const last = "github-actions[bot] 41898282+github-actions[bot]@users.noreply.github.com 2023-11-14T22:13:20+00:00 github-actions[bot] raymond: uncommitted work\n"
		assert.Check(t, strings.HasPrefix(log, last) && strings.Count(log, "\n") == 2, "log: got %s, want first %s and one commit of the agent", log, last)
		assert.Check(t, is.Equal(lacks, ".github/x: what changed below .github is handed over with workflows=true alone\nmine: it was there before the first agent, and in no commit\nraymond/gone:/nowhere: it is in no worktree of the repository\n"))
		assert.Check(t, is.Equal(head(t, repository), base), "HEAD")
		again, _ := handed(t, new(workspace.Git), h)
		assert.Check(t, is.DeepEqual(branches(t, again), branches(t, repository)), "branches the second time")
		remote := ownRemote(t)
		git(t, repository, "push", "-q", "file://"+remote, "work:refs/heads/fix-12", "raymond/b:refs/heads/b")
		git(t, remote, "fsck", "--connectivity-only")
		assert.Check(t, is.Equal(git(t, remote, "rev-parse", "fix-12"), git(t, repository, "rev-parse", "work")), "pushed")
		for _, name := range []string{"hooks", "objects/info/alternates", "logs", "FETCH_HEAD"} {
			_, err := os.Lstat(filepath.Join(repository, name))
			assert.Check(t, err != nil, "%s: it is there", name)
		}
		config := git(t, repository, "config", "--local", "--name-only", "--list")
		assert.Check(t, !strings.Contains(config, "remote."), "settings: got %s, want no remote", config)
	}
}

// TestWorkWithoutCommitsOfTheCheckout: HEAD is behind the checkout, or shares nothing with it.
func TestWorkWithoutCommitsOfTheCheckout(t *testing.T) {
	t.Parallel()
	first := strings.TrimSpace(git(t, sharedRemote(t), "rev-list", "--max-parents=0", "main"))
	for name, do := range map[string]func(dir string){
		"nothing": func(string) {},
		"behind":  func(dir string) { git(t, dir, "reset", "-q", "--hard", "HEAD~1") },
		"older": func(dir string) {
			git(t, dir, "reset", "-q", "--hard", "HEAD~1")
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
		},
		"orphan": func(dir string) {
			git(t, dir, "checkout", "-q", "--orphan", "x")
			git(t, dir, "commit", "-q", "-m", "x")
		},
		"merged": func(dir string) {
			git(t, dir, "checkout", "-q", "-b", "x", "HEAD~1")
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
			git(t, dir, "merge", "-q", "--no-edit", "main")
		},
	} {
		_, dir, base := checkout(t, map[bool]string{true: "--depth=2", false: "--no-single-branch"}[name != "merged"])
		do(dir)
		repository, lacks := handed(t, new(workspace.Git), workspace.Handing{Dir: dir, Base: base})
		assert.Check(t, is.Equal(git(t, repository, "rev-parse", "work")+lacks, git(t, dir, "rev-parse", "HEAD")), "%s: branch", name)
		assert.Check(t, is.Equal(head(t, repository), base), "%s: HEAD", name)
		_, err := try(repository, "cat-file", "-e", first)
		assert.Check(t, err != nil, "%s: the history goes back to its beginning", name)
		remote := ownRemote(t)
		_, err = try(repository, "push", "-q", "file://"+remote, "work:refs/heads/x")
		assert.Check(t, err, "%s: %v", name, err)
	}
	for name, test := range map[string]workspace.Handing{
		"outside of git":          {Dir: t.TempDir()},
		"no commit of a checkout": {Dir: clone(t, sharedRemote(t)).checkout()},
		"one of elsewhere":        {Dir: clone(t, sharedRemote(t)).checkout(), Base: head(t, otherRemote(t, "x"))},
	} {
		test.To = t.TempDir()
		_, err := new(workspace.Git).HandOver(t.Context(), test)
		assert.Check(t, err != nil, "%s: got no error", name)
	}
}

// TestFilesAreAddedAsGitAddsThem: line ends are converted, filters are not run.
func TestFilesAreAddedAsGitAddsThem(t *testing.T) {
	t.Parallel()
	s, dir, base := checkout(t)
	mark := filepath.Join(s.root, "mark")
	git(t, dir, "config", "core.autocrlf", "true")
	git(t, dir, "config", "filter.odd.clean", "touch '"+mark+"'; echo odd")
	write(t, dir, "a", "1\r\n2\r\n")
	write(t, dir, "kept", "1\r\n")
	write(t, dir, "filtered", "plain\n")
	write(t, dir, ".gitattributes", "kept -text\nfiltered filter=odd\n")
	repository, _ := handed(t, new(workspace.Git), workspace.Handing{Dir: dir, Base: base})
	for name, want := range map[string]string{"a": "1\n2\n", "kept": "1\r\n", "filtered": "plain\n"} {
		assert.Check(t, is.Equal(git(t, repository, "show", "work:"+name), want), name)
	}
	_, err := os.Lstat(mark)
	assert.Check(t, err != nil, "a filter was run")
}

// TestWhatIsNotHandedOverIsNamed: files of git LFS, submodules, repositories inside, and names that a job log would obey.
func TestWhatIsNotHandedOverIsNamed(t *testing.T) {
	t.Parallel()
	_, dir, _ := checkout(t)
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "file://"+sharedRemote(t), "sub")
	write(t, dir, "old.bin", "version 1\n")
	write(t, dir, ".gitattributes", "*.bin filter=lfs -text\n")
	commit(t, dir)
	base := head(t, dir)
	write(t, dir, "committed.bin", "version 2\n")
	git(t, dir, "add", "committed.bin")
	git(t, dir, "commit", "-q", "-m", "work")
	write(t, dir, "old.bin", "large")
	write(t, dir, "new.bin", "large")
	write(t, dir, "sub/a", "changed\n")
	git(t, dir, "init", "-q", "nested")
	write(t, dir, "nested/x", "x\n")
	write(t, dir, "::error::x\n.bin", "x")
	write(t, dir, "plain", "x")
	repository, lacks := handed(t, new(workspace.Git), workspace.Handing{Dir: dir, Base: base})
	shows(t, repository, "work", "A 100644 committed.bin\nA 100644 plain")
	want := ": :error::x\\n.bin: git LFS keeps its content\ncommitted.bin: git LFS keeps its content\nnested/: it is a repository of its own, or no file\n" +
		"new.bin: git LFS keeps its content\nold.bin: git LFS keeps its content\nsub: the work in the submodule\n"
	assert.Check(t, is.Equal(lacks, want), "lacks")
}

// TestWhatTheForgeRunsIsNotHandedOver, whether it is committed, was committed and taken back, staged or new; with
// Workflows it is.
func TestWhatTheForgeRunsIsNotHandedOver(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(dir string){
		"new": func(string) {},
		"staged": func(dir string) {
			git(t, dir, "add", "-A")
			os.RemoveAll(filepath.Join(dir, ".github"))
		},
		"a link": func(dir string) {
			os.RemoveAll(filepath.Join(dir, ".github"))
			os.Symlink("dir", filepath.Join(dir, ".github"))
		},
		"committed": func(dir string) { commit(t, dir) },
		"taken back": func(dir string) {
			commit(t, dir)
			os.RemoveAll(filepath.Join(dir, ".github"))
			commit(t, dir)
		},
		"without history": func(dir string) {
			git(t, dir, "checkout", "-q", "--orphan", "x")
			commit(t, dir)
		},
	} {
		_, dir, base := checkout(t)
		write(t, dir, ".github/workflows/evil.yml", "evil\n")
		do(dir)
		write(t, dir, "plain", "x\n")
		repository, lacks := handed(t, new(workspace.Git), workspace.Handing{Dir: dir, Base: base})
		shows(t, repository, "work", "A 100644 plain")
		assert.Check(t, is.Equal(git(t, repository, "log", "--format=%h", "--full-history", "HEAD..work", "--", ".github"), ""), "%s: commits change .github", name)
		assert.Check(t, is.Contains(lacks, ".github"), "%s: lacks", name)
		repository, lacks = handed(t, new(workspace.Git), workspace.Handing{Dir: dir, Base: base, Workflows: true})
		assert.Check(t, is.Equal(git(t, repository, "log", "--format=%P", "-1", "work")+lacks, git(t, dir, "rev-parse", "HEAD")), "%s: with workflows: on top of", name)
	}
}

// TestAPoisonedRepositoryIsHandedOverClean: settings, hooks, links, replaced and grafted commits, and pointers to a
// repository that isn't the agents' have no effect, or nothing is handed over.
func TestAPoisonedRepositoryIsHandedOverClean(t *testing.T) { //nolint:funlen // what is tried is most of it
	t.Parallel()
	for name, test := range map[string]struct {
		do       func(s site, secret string)
		isDenied bool
	}{
		"settings and hooks": {do: func(s site, _ string) { trap(t, s.root, filepath.Join(s.checkout(), ".git")) }},
		"worktree":           {do: func(s site, secret string) { git(t, s.checkout(), "config", "core.worktree", secret) }},
		"worktree around":    {do: func(s site, _ string) { git(t, s.checkout(), "config", "core.worktree", s.root) }},
		"include":            {do: func(s site, secret string) { git(t, s.checkout(), "config", "include.path", secret+"/.git/config") }},
		"replaced": {do: func(s site, _ string) {
			git(t, s.checkout(), "replace", "HEAD", "HEAD~1")
		}},
		"grafts": {do: func(s site, _ string) { write(t, s.checkout(), ".git/info/grafts", head(t, s.checkout())+"\n") }},
		"alternates": {isDenied: true, do: func(s site, secret string) {
			write(t, s.checkout(), ".git/objects/info/alternates", secret+"/.git/objects\n")
			git(t, s.checkout(), "reset", "-q", "--hard", head(t, secret))
		}},
		"linked objects": {isDenied: true, do: func(s site, secret string) {
			os.RemoveAll(filepath.Join(s.checkout(), ".git/objects"))
			os.Symlink(secret+"/.git/objects", filepath.Join(s.checkout(), ".git/objects"))
			write(t, s.checkout(), ".git/HEAD", head(t, secret))
		}},
		"a file": {isDenied: true, do: func(s site, secret string) {
			os.RemoveAll(filepath.Join(s.checkout(), ".git"))
			write(t, s.checkout(), ".git", "gitdir: "+secret+"/.git\n")
		}},
		"a link": {isDenied: true, do: func(s site, secret string) {
			os.RemoveAll(filepath.Join(s.checkout(), ".git"))
			os.Symlink(secret+"/.git", filepath.Join(s.checkout(), ".git"))
		}},
		"a common folder": {isDenied: true, do: func(s site, secret string) { write(t, s.checkout(), ".git/commondir", secret+"/.git\n") }},
		"a submodule above": {do: func(s site, secret string) {
			git(t, s.checkout(), "config", "user.name", "a")
			pipe(t, s.checkout(), "160000 "+head(t, secret)+"\tsub\n", "update-index", "--index-info")
			os.Symlink(secret, filepath.Join(s.checkout(), "sub"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, secret := clone(t, sharedRemote(t)), clone(t, sharedRemote(t)).checkout()
			write(t, secret, "secret", "secret\n")
			commit(t, secret)
			base := head(t, s.checkout())
			write(t, s.checkout(), "a", "changed\n")
			write(t, s.root, "outside", "secret\n")
			test.do(s, secret)
			to := t.TempDir()
			got, err := new(workspace.Git).HandOver(t.Context(), workspace.Handing{Dir: s.checkout(), Base: base, At: handedAt, To: to})
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

// TestObjectsThatLie: a pack whose index gives a commit another one's name, and a few kilobytes of deltas that unpack
// to half a gigabyte.
func TestObjectsThatLie(t *testing.T) {
	t.Parallel()
	_, dir, base := checkout(t)
	const bomb = 513 << 20 // more than one object may have
	kib := strings.Repeat("\x00", 64<<10)
	var delta bytes.Buffer
	delta.Write(binary.AppendUvarint(binary.AppendUvarint(nil, 64<<10), bomb))
	for range bomb / len(kib) {
		delta.WriteByte(0x80) // copies 64 KiB from the beginning
	}
	reference := sha1.Sum([]byte("blob 65536\x00" + kib))
	id := fmt.Sprintf("%x", reference)
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", bomb)
	for range bomb / len(kib) {
		io.WriteString(h, kib)
	}
	large := fmt.Sprintf("%x", h.Sum(nil))
	pack := packOf(object(3, 64<<10, "", kib), object(7, delta.Len(), string(reference[:]), delta.String()))
	sum := sha1.Sum([]byte(pack))
	pipe(t, dir, pack+string(sum[:]), "index-pack", "--stdin")
	tree := mktree(t, dir, "100644 blob "+large+"\tlarge\n100644 blob "+id+"\tsmall\n")
	git(t, dir, "reset", "-q", "--soft", strings.TrimSpace(git(t, dir, "commit-tree", "-p", base, "-m", "bomb", tree)))
	assert.Assert(t, len(pack) <= 64<<10, "the pack has %d bytes", len(pack))
	_, err := new(workspace.Git).HandOver(t.Context(), workspace.Handing{Dir: dir, Base: base, To: t.TempDir()})
	assert.Check(t, is.ErrorContains(err, "when unpacked"), "deltas that burst")

	_, dir, base = checkout(t)
	write(t, dir, "a", "changed\n")
	git(t, dir, "commit", "-q", "-a", "-m", "x")
	var loose bytes.Buffer
	w := zlib.NewWriter(&loose)
	lie := "tree " + git(t, dir, "rev-parse", "HEAD^{tree}") + "author a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nlie\n"
	fmt.Fprintf(w, "commit %d\x00%s", len(lie), lie)
	w.Close()
	path := filepath.Join(".git/objects", head(t, dir)[:2], head(t, dir)[2:])
	os.Remove(filepath.Join(dir, path))
	write(t, dir, path, loose.String())
	_, err = new(workspace.Git).HandOver(t.Context(), workspace.Handing{Dir: dir, Base: base, To: t.TempDir()})
	assert.Check(t, err != nil, "a commit by the name of another: got no error")
}

// TestTooMuchIsNotHandedOver: neither what is committed nor what is not.
func TestTooMuchIsNotHandedOver(t *testing.T) {
	t.Parallel()
	_, dir, base := checkout(t)
	g := &workspace.Git{}
	g.Handed(64 << 10)
	write(t, dir, "noise", noise(100<<10))
	for _, isCommitted := range []bool{false, true} {
		if isCommitted {
			commit(t, dir)
		}
		_, err := g.HandOver(t.Context(), workspace.Handing{Dir: dir, Base: base, To: t.TempDir()})
		assert.Check(t, is.ErrorContains(err, "64 KiB"), "want an error that names the limit")
	}
}
