package workspace_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

const zeros = "0000000000000000000000000000000000000000"

// change is an index.json with one thing changed.
func change(t testing.TB, data string, path []any, value any) string {
	t.Helper()
	var top any
	assert.NilError(t, json.Unmarshal([]byte(data), &top))
	at := top
	for _, step := range path[:len(path)-1] {
		switch step := step.(type) {
		case string:
			at = at.(map[string]any)[step]
		case int:
			at = at.([]any)[step]
		}
	}
	if last, ok := path[len(path)-1].(string); ok {
		at.(map[string]any)[last] = value
	} else {
		at.([]any)[path[len(path)-1].(int)] = value
	}
	out, err := json.Marshal(top)
	assert.NilError(t, err)
	return string(out)
}

func TestIndexThatNoSaveWrites(t *testing.T) {
	_, saved := worked(t)
	good := read(t, saved, "index.json")
	assert.NilError(t, workspace.Decode([]byte(good)), "index of a save")
	repo := func(path ...any) []any { return append([]any{"repositories", 0}, path...) }
	for _, test := range []struct {
		path  []any
		value any
	}{
		{[]any{"schema"}, 2}, {[]any{"schema"}, 0}, {[]any{"more"}, 1}, {[]any{"schema"}, "1"}, {[]any{"Schema"}, 1},
		{repo("more"), 1},
		{repo("bundle"), "../x.bundle"}, {repo("bundle"), "repo-0.bundle/../../x"}, {repo("bundle"), "/etc/passwd"}, {repo("bundle"), ""},
		{repo("save"), ""}, {repo("save"), "HEAD"}, {repo("save"), "--all"}, {repo("save"), strings.Repeat("A", 40)}, {repo("save"), zeros + "\n"},
		{repo("needs"), []string{"main"}}, {repo("needs"), []string{"-x"}},
		{repo("branches", 0, "name"), "../x"}, {repo("branches", 0, "name"), "a..b"}, {repo("branches", 0, "name"), "-x"},
		{repo("branches", 0, "name"), "x.lock"}, {repo("branches", 0, "name"), "a b"}, {repo("branches", 0, "name"), "a\x00b"},
		{repo("branches", 0, "name"), "a\nb"}, {repo("branches", 0, "name"), "/a"}, {repo("branches", 0, "name"), ".a"}, {repo("branches", 0, "name"), ""},
		{repo("branches", 0, "name"), "a/.b"}, {repo("branches", 0, "name"), "HEAD"}, {repo("branches", 0, "name"), "x@{1}"}, {repo("branches", 0, "name"), "a\\b"},
		{repo("branches", 1, "name"), "main"}, {repo("branches", 0, "id"), "HEAD"},
		{repo("trees"), []any{}}, {repo("trees", 0, "dir"), "relative"}, {repo("trees", 0, "dir"), "/a/../b"}, {repo("trees", 0, "dir"), "/a/"},
		{repo("trees", 0, "dir"), "/a\x00b"}, {repo("trees", 0, "dir"), ""}, {repo("trees", 0, "dir"), `C:\a\..\b`}, {repo("trees", 0, "dir"), `C:a`},
		{repo("trees", 0, "main"), false}, {repo("trees", 1, "main"), true}, {repo("trees", 0, "operation"), "rm"},
		{repo("trees", 0, "branch"), "other"}, {repo("trees", 0, "branch"), "-x"}, {repo("trees", 0, "head"), zeros}, {repo("trees", 0, "head"), "x"},
		{repo("trees", 0), map[string]any{"dir": "/a", "main": true}}, {repo("trees", 0, "more"), ""},
	} {
		bad := change(t, good, test.path, test.value)
		assert.Check(t, workspace.Decode([]byte(bad)) != nil, "index with %v = %q: got no error, want one", test.path, test.value)
	}
	for _, bad := range []string{
		"", "{", "null", "[]", "1", good + "{}", strings.Replace(good, `"schema"`, `"schema":1,"schema"`, 1), `{"schema":1}x`,
	} {
		assert.Check(t, workspace.Decode([]byte(bad)) != nil, "index %.80q: got no error, want one", bad)
	}
	for _, dir := range []string{`C:\a b\c`, `D:/x/y`, `\\server\share\x`, "/", "/a/b c/ü"} {
		assert.Check(t, workspace.Decode([]byte(change(t, good, repo("trees", 0, "dir"), dir))), "index with directory %q", dir)
	}
}

// forger makes saves with a commit of its own making.
type forger struct {
	old     site   // of which there is a save
	saved   string // its folder
	scratch string // a checkout for objects
}

func newForger(t *testing.T, remote string) forger {
	t.Helper()
	f := forger{clone(t, remote), t.TempDir(), clone(t, remote).checkout()}
	save(t, &workspace.Git{}, workspace.Saving{Dirs: []string{f.old.checkout()}, Base: head(t, f.old.checkout()), To: f.saved})
	return f
}

// forge makes a save. work returns the name of a tree, whose entries are lines of git mktree.
func (f forger) forge(t *testing.T, work func(dir string) string) string {
	t.Helper()
	to, base, dir := t.TempDir(), head(t, f.old.checkout()), f.scratch
	tree := mktree(t, dir, "040000 tree "+work(dir)+"\t0\n")
	commit := strings.TrimSpace(git(t, dir, "commit-tree", "-p", base, "-m", "", tree))
	objects := git(t, dir, "rev-list", "--objects", "--missing=allow-any", "--no-object-names", commit, "^"+base)
	data := "# v2 git bundle\n-" + base + "\n" + commit + " refs/raymond/save\n\n" + pipe(t, dir, objects, "pack-objects", "-q", "--stdout")
	write(t, to, "repo-0.bundle", data)
	x := read(t, f.saved, "index.json")
	x = change(t, x, []any{"repositories", 0, "save"}, commit)
	x = change(t, x, []any{"repositories", 0, "size"}, len(data))
	x = change(t, x, []any{"repositories", 0, "sha256"}, fmt.Sprintf("%x", sha256.Sum256([]byte(data))))
	write(t, to, "index.json", x)
	return to
}

// pipe runs git with an input.
func pipe(t *testing.T, dir, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
	out, err := cmd.Output()
	assert.NilError(t, err, "git %q of %q", args, in)
	return string(out)
}

func mktree(t *testing.T, dir, entries string) string {
	t.Helper()
	return strings.TrimSpace(pipe(t, dir, entries, "mktree", "--missing"))
}

func blob(t *testing.T, dir, content string) string {
	t.Helper()
	return strings.TrimSpace(pipe(t, dir, content, "hash-object", "-w", "--stdin"))
}

// withoutObjects is everything in a folder but what git has stored, and when folders
// were changed.
func withoutObjects(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := everything(t, dir)
	for path := range all {
		if strings.Contains(path, ".git/objects") {
			delete(all, path)
		}
	}
	return all
}

func TestForgedSaves(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	part := func(name, entries string) func(dir string) string {
		return func(dir string) string {
			entries := strings.ReplaceAll(entries, "BLOB", blob(t, dir, "evil"))
			entries = strings.ReplaceAll(entries, "LINK", blob(t, dir, ".git"))
			entries = strings.ReplaceAll(entries, "TREE", mktree(t, dir, "100644 blob "+blob(t, dir, "evil")+"\tconfig\n"))
			return mktree(t, dir, "040000 tree "+mktree(t, dir, entries)+"\t"+name+"\n")
		}
	}
	forgeries := map[string]func(dir string) string{
		"git's own folder":     part("work", "040000 tree TREE\t.git\n"),
		"the same, in capital": part("work", "040000 tree TREE\t.GIT\n"),
		"as Windows has it":    part("work", "040000 tree TREE\tgit~1\n"),
		"as macOS has it":      part("work", "040000 tree TREE\t.g\u200cit\n"),
		"git's own file":       part("work", "100644 blob BLOB\t.git\n"),
		"the folder above":     part("work", "040000 tree TREE\t..\n"),
		"in the index":         part("index", "040000 tree TREE\t.git\n"),
		"in a stage":           part("stage", "040000 tree TREE\t1\n040000 tree TREE\t9\n"),
		"an unknown part":      part("hooks", "100644 blob BLOB\tx\n"),
		"a link and a folder":  part("work", "120000 blob LINK\tx\n040000 tree TREE\tx\n"),
		"a module's settings":  part("work", "120000 blob LINK\t.gitmodules\n"),
		"a missing blob":       part("work", "100644 blob "+strings.Repeat("12", 20)+"\tx\n"),
		"a file as a part":     func(dir string) string { return mktree(t, dir, "100644 blob "+blob(t, dir, "x")+"\twork\n") },
	}
	f := newForger(t, remote)
	for _, name := range some(names(forgeries)) {
		t.Run(name, func(t *testing.T) {
			here := clone(t, remote)
			from := f.forge(t, forgeries[name])
			before := withoutObjects(t, here.root)
			_, err := restore(t, from, f.old, here)
			assert.Assert(t, err != nil, "error: got %v, want one that is no conflict", err)
			assert.Check(t, !isConflict(err), "error: got %v, want one that is no conflict", err)
			after := withoutObjects(t, here.root)
			assert.Check(t, is.DeepEqual(after, before), "checkout after %v", err)
		})
	}
}

// TestALinkIsNotWrittenThrough has links of the checkout, and of the save, where files
// go.
func TestALinkIsNotWrittenThrough(t *testing.T) {
	remote := sharedRemote(t)
	old, here := clone(t, remote), clone(t, remote)
	base := head(t, old.checkout())
	outside := filepath.Join(here.root, "outside")
	write(t, outside, "x", "safe\n")
	git(t, old.checkout(), "rm", "-q", "link")
	write(t, old.checkout(), "link/x", "evil\n")
	os.Symlink(outside, filepath.Join(old.checkout(), "out"))
	git(t, here.checkout(), "rm", "-q", "link")
	os.Symlink(outside, filepath.Join(here.checkout(), "link"))
	git(t, here.checkout(), "add", "link")
	git(t, here.checkout(), "commit", "-q", "-m", "link")
	to := t.TempDir()
	save(t, &workspace.Git{}, workspace.Saving{Dirs: []string{old.checkout()}, Base: base, To: to})
	mustRestore(t, to, old, here)
	mustRestore(t, to, old, here)
	same(t, old.checkout(), here.checkout())
	if got := files(t, outside); len(got) != 1 || read(t, outside, "x") != "safe\n" {
		t.Errorf("files that the links lead to: got %v, want them untouched", got)
	}
}

func TestBundleThatIsNotTheOneDescribed(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	for name, do := range map[string]func(dir string){
		"changed": func(dir string) {
			data := []byte(read(t, dir, "repo-0.bundle"))
			data[len(data)-1] ^= 1
			write(t, dir, "repo-0.bundle", string(data))
		},
		"longer":  func(dir string) { write(t, dir, "repo-0.bundle", read(t, dir, "repo-0.bundle")+"x") },
		"missing": func(dir string) { os.Remove(filepath.Join(dir, "repo-0.bundle")) },
		"another commit": func(dir string) {
			write(t, dir, "index.json", change(t, read(t, dir, "index.json"), []any{"repositories", 0, "save"}, strings.Repeat("12", 20)))
		},
		"another branch": func(dir string) {
			x := change(t, read(t, dir, "index.json"), []any{"repositories", 0, "branches", 0, "id"}, strings.Repeat("12", 20))
			write(t, dir, "index.json", change(t, x, []any{"repositories", 0, "trees", 0, "head"}, strings.Repeat("12", 20)))
		},
		"a branch at a commit that was not saved": func(dir string) {
			x, foreign := read(t, dir, "index.json"), strings.TrimSpace(git(t, remote, "rev-parse", "main~2"))
			for i := range 2 {
				x = change(t, x, []any{"repositories", 0, "branches", i, "id"}, foreign)
				x = change(t, x, []any{"repositories", 0, "trees", i, "head"}, foreign)
			}
			write(t, dir, "index.json", x)
		},
		"no needs": func(dir string) {
			write(t, dir, "index.json", change(t, read(t, dir, "index.json"), []any{"repositories", 0, "needs"}, []string{strings.Repeat("12", 20)}))
		},
	} {
		old, saved := worked(t)
		here := clone(t, remote)
		do(saved)
		before := pictureOf(t, here.checkout())
		_, err := restore(t, saved, old, here)
		assert.Check(t, err != nil, "%s: got no error, want one", name)
		assert.Check(t, is.DeepEqual(pictureOf(t, here.checkout()), before), "%s: checkout", name)
	}
	old, saved := worked(t)
	_, err := (&workspace.Git{Limit: 100}).Restore(t.Context(), workspace.Restoring{From: saved, Dir: relocated(old, clone(t, remote))})
	assert.Check(t, err != nil, "bundle over the limit: got no error, want one")
}

func TestPathsThatAreNotWritten(t *testing.T) {
	for path, want := range map[string]bool{
		"a": true, "a/b": true, ".gitignore": true, "git": true, ".github/x": true, "-": true, "a b/\n": true, "...a": true,
		"": false, "/a": false, "a/": false, "a//b": false, ".": false, "..": false, "a/../b": false, ".git": false, "a/.git/b": false,
		".GIT/x": false, ".git./x": false, ".git /x": false, "GIT~1/x": false, "a\x00b": false,
	} {
		assert.Check(t, is.Equal(workspace.IsPlainPath(path), want), "path %q may be written", path)
	}
}
