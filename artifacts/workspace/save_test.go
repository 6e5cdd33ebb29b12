package workspace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

func TestHasWork(t *testing.T) {
	t.Parallel()
	for _, test := range some([]struct {
		name, do string // do is a script
		want     bool
	}{
		{"nothing", "", false},
		{"an ignored file", "touch x.o", false},
		{"a branch without commits", "git branch x", false},
		{"an untracked file", "touch x", true},
		{"a deleted file", "rm a", true},
		{"a commit", "git commit -q --allow-empty -m x", true},
		{"a commit of another branch", "git checkout -q -b x; git commit -q --allow-empty -m x; git checkout -q main", true},
		{"another commit of the remote", "git checkout -q HEAD~1", true},
	}) {
		for _, known := range []bool{true, false} {
			_, dir, base := checkout(t)
			if !known {
				base = ""
			}
			sh(t, dir, test.do)
			want := test.want && (known || test.name != "another commit of the remote")
			saved := save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: []string{dir}, Base: base})
			assert.Check(t, is.Equal(saved.HasWork, want), "%s, base known %v: held", test.name, known)
		}
	}
}

func TestNothingToSave(t *testing.T) {
	dir := t.TempDir()
	assert.Check(t, is.DeepEqual(save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: []string{filepath.Join(dir, "gone"), dir}}), workspace.SaveResult{}))
	noGit := &workspace.Git{Path: filepath.Join(dir, "git")}
	_, err := noGit.Save(t.Context(), workspace.SaveRequest{Dirs: []string{dir}, To: dir})
	assert.Check(t, is.ErrorIs(err, workspace.ErrNoGit), "without git")
	git(t, dir, "init", "-q", "--object-format=sha256")
	_, err = new(workspace.Git).Save(t.Context(), workspace.SaveRequest{Dirs: []string{dir}, To: dir})
	assert.Check(t, is.ErrorContains(err, "sha256 object ids"), "other object ids")
	old, from := worked(t)
	_, err = noGit.Restore(t.Context(), workspace.RestoreRequest{From: from})
	assert.Check(t, err != nil, "restore of a save without git: got no error, want one")
	assert.Check(t, is.Len(mustRestore(t, t.TempDir(), old, old), 0), "restore of nothing")
}

// noise returns n pseudo-random bytes, which can't be compressed.
func noise(n int) string {
	data := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(data)
	return string(data)
}

func TestTooLargeErrorNamesTheLargestFiles(t *testing.T) {
	for _, test := range []struct {
		name, content string
		isCommitted   bool
		want          string
	}{
		{"file", noise(300 << 10), false, `"dir/big" has 300 KiB`},
		{"commit", noise(300 << 10), true, "commits and changed files are over 200 KiB"},
		{"file over the bound", noise(1 << 20), false, `"dir/big" has 1024 KiB`},
		{"much, but little when packed", strings.Repeat("x", 600<<10), false, ""},
		{"the same, committed", strings.Repeat("x", 750<<10), true, ""},
		{"more than a restore accepts, committed", strings.Repeat("x", 850<<10), true, "when unpacked"},
	} {
		_, dir, base := checkout(t, "--depth=1")
		write(t, dir, "small", "x")
		write(t, dir, "dir/big", test.content)
		if test.isCommitted {
			commit(t, dir)
		}
		to := t.TempDir()
		_, err := (&workspace.Git{Limit: 200 << 10}).Save(context.Background(), workspace.SaveRequest{Dirs: []string{dir}, Base: base, To: to})
		if test.want == "" {
			assert.Check(t, err, test.name)
			continue
		}
		assert.Check(t, is.ErrorIs(err, workspace.ErrTooLarge), test.name)
		assert.Check(t, is.Contains(err.Error(), test.want), test.name)
		entries, _ := os.ReadDir(to)
		assert.Check(t, is.Len(entries, 0), test.name)
	}
}

func TestUnchangedRepositoriesComeFromTheLastSave(t *testing.T) {
	t.Parallel()
	one, two := clone(t, sharedRemote(t)), clone(t, sharedRemote(t))
	base := head(t, one.checkout())
	write(t, one.checkout(), "x", "1\n")
	write(t, two.checkout(), "x", "1\n")
	g := &workspace.Git{}
	g.Unreliable(time.Nanosecond)
	dirs := []string{one.checkout(), two.checkout()}
	last := t.TempDir()
	first := save(t, g, workspace.SaveRequest{Dirs: dirs, Base: base, To: last})
	for _, test := range []struct {
		name, do string  // do is a script that runs in the first repository
		want     [2]bool // for each repository, whether it is taken from the last save
	}{
		{"nothing", "", [2]bool{true, true}},
		{"an ignored file", "touch x.o", [2]bool{true, true}},
		{"a file of the first, of the same size", "echo 2 > x", [2]bool{false, true}},
		{"with an old time", "echo 3 > x; touch -d @1 x", [2]bool{false, true}},
		{"a staged file of the second", "cd $TWO; git add x", [2]bool{true, false}},
		{"a branch of the first", "git branch b", [2]bool{false, true}},
		{"a mode of the first", "chmod +x x", [2]bool{false, true}},
		{"HEAD of the first", "git checkout -q b", [2]bool{false, true}},
		{"a bisect of the first", "git bisect start", [2]bool{false, true}},
		{"a commit of the second", "cd $TWO; git commit -q -m x", [2]bool{true, false}},
		{"another base", "", [2]bool{false, false}},
	} {
		sh(t, one.checkout(), "TWO="+two.checkout()+"; "+test.do)
		if test.name == "another base" {
			base = ""
		}
		to := t.TempDir()
		again := save(t, g, workspace.SaveRequest{Dirs: dirs, Base: base, To: to, Last: last})
		for n, want := range test.want {
			assert.Check(t, is.Equal(sameFile(t, filepath.Join(last, first.Files[n+1]), filepath.Join(to, again.Files[n+1])), want), "%s: repository %d taken from the last save", test.name, n)
		}
		last, first = to, again
	}
	g.Unreliable(time.Hour) // with this setting, a change could go unnoticed
	to := t.TempDir()
	if again := save(t, g, workspace.SaveRequest{Dirs: dirs, To: to, Last: last}); sameFile(t, filepath.Join(last, first.Files[1]), filepath.Join(to, again.Files[1])) {
		t.Error("files that were changed just now: taken from the last save, want them packed again")
	}
}

// sameFile reports whether two paths are hard links to one file.
func sameFile(t testing.TB, a, b string) bool {
	t.Helper()
	was, err := os.Stat(a)
	assert.NilError(t, err)
	is, err := os.Stat(b)
	assert.NilError(t, err)
	return os.SameFile(was, is)
}

// wrapped returns a Git whose git program runs a script before each command. In the script, $1 is the
// command and $git is the path of the real git.
func wrapped(t testing.TB, script string) *workspace.Git {
	t.Helper()
	genuine, err := exec.LookPath("git")
	assert.NilError(t, err)
	return standIn(t, fmt.Sprintf("git='%s'\n%s\nexec '%[1]s' \"$@\"\n", genuine, script))
}

// standIn returns a Git that runs a script instead of git.
func standIn(t testing.TB, script string) *workspace.Git {
	t.Helper()
	path := filepath.Join(t.TempDir(), "git")
	installtest.WriteProgram(t, path, "#!/bin/bash\n"+script)
	return &workspace.Git{Path: path, IsUncaged: true}
}

func TestMovedRefsAreRetried(t *testing.T) {
	t.Parallel()
	for _, test := range some([]struct {
		name  string
		times int
		move  string
		want  error
	}{
		{"a branch, once", 1, "commit -q --allow-empty -m moved", nil},
		{"a branch, twice", 2, "commit -q --allow-empty -m moved", nil},
		{"a branch, always", 9, "commit -q --allow-empty -m moved", workspace.ErrMoved},
		{"HEAD, always", 9, "checkout -q -b moved$n", workspace.ErrMoved},
		{"another branch, always", 9, "branch moved$n", workspace.ErrMoved},
		{"nothing", 9, "status -s", nil},
	}) {
		s, dir, base := checkout(t)
		write(t, dir, "x", "x\n")
		count := filepath.Join(s.root, "count")
		g := wrapped(t, fmt.Sprintf(`if [ "$1" = fast-import ]; then
			echo >> '%s'; n=$(wc -l < '%s')
			if [ $n -le %d ]; then
				(unset GIT_DIR; cd '%s'; "$git" %s) </dev/null >&2 || exit 99
			fi
		fi`, count, count, test.times, dir, test.move))
		to := t.TempDir()
		_, err := g.Save(context.Background(), workspace.SaveRequest{Dirs: []string{dir}, Base: base, To: to})
		if assert.Check(t, is.ErrorIs(err, test.want), test.name); err != nil {
			continue
		}
		entries, _ := os.ReadDir(to)
		assert.Check(t, is.Len(entries, 2), test.name)
		here := clone(t, filepath.Join(s.root, "checkout"), "-b", "main")
		mustRestore(t, to, s, here)
		same(t, dir, here.checkout())
	}
}

// manyFiles creates a repository with n committed files, which are spread over several directories.
func manyFiles(b *testing.B, n, folders int) string {
	b.Helper()
	dir := b.TempDir()
	git(b, dir, "init", "-q", "-b", "main")
	for i := range n {
		write(b, dir, fmt.Sprintf("d%d/f%d", i%folders, i), fmt.Sprintf("file %d\n", i))
	}
	commit(b, dir)
	return dir
}

func BenchmarkSaveOfAnUnchangedTree(b *testing.B) {
	dir := manyFiles(b, 2000, 40)
	write(b, dir, "d1/f1", "changed\n")
	g := &workspace.Git{}
	g.Unreliable(time.Nanosecond)
	last := b.TempDir()
	save(b, g, workspace.SaveRequest{Dirs: []string{dir}, Base: head(b, dir), To: last})
	for b.Loop() {
		save(b, g, workspace.SaveRequest{Dirs: []string{dir}, Base: head(b, dir), Last: last})
	}
}
