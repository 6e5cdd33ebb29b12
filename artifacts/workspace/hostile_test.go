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

const zeros = "0000000000000000000000000000000000000000"

func TestInvalidIndexIsRefused(t *testing.T) {
	_, saved := worked(t)
	good := read(t, saved, "index.json")
	assert.NilError(t, workspace.Decode([]byte(good)), "index of a save")
	const r = "repositories.0."
	for path, values := range map[string][]any{
		"schema": {2, 0, "1"}, "more": {1}, "Schema": {1}, r + "more": {1},
		r + "bundle": {"../x.bundle", "repo-0.bundle/../../x", "/etc/passwd", ""},
		r + "save":   {"", "HEAD", "--all", strings.Repeat("A", 40), zeros + "\n"},
		r + "needs":  {[]string{"main"}, []string{"-x"}},
		r + "branches.0.name": {
			"../x", "a..b", "-x", "x.lock", "a b", "a\x00b", "a\nb", "/a", ".a", "", "a/.b", "HEAD", "x@{1}", "a\\b",
		},
		r + "branches.1.name": {"main"}, r + "branches.0.id": {"HEAD"},
		r + "trees":        {[]any{}},
		r + "trees.0.dir":  {"relative", "/a/../b", "/a/", "/a\x00b", "", `C:\a\..\b`, `C:a`},
		r + "trees.0.main": {false}, r + "trees.1.main": {true}, r + "trees.0.operation": {"rm"},
		r + "trees.0.branch": {"other", "-x"}, r + "trees.0.head": {zeros, "x"},
		r + "trees.0": {map[string]any{"dir": "/a", "main": true}}, r + "trees.0.more": {""},
	} {
		for _, value := range values {
			bad := change(t, good, path, value)
			assert.Check(t, workspace.Decode([]byte(bad)) != nil, "index with %v = %q: got no error, want one", path, value)
		}
	}
	for _, bad := range []string{
		"", "{", "null", "[]", "1", good + "{}", strings.Replace(good, `"schema"`, `"schema":1,"schema"`, 1), `{"schema":1}x`,
	} {
		assert.Check(t, workspace.Decode([]byte(bad)) != nil, "index %.80q: got no error, want one", bad)
	}
	for _, dir := range []string{`C:\a b\c`, `D:/x/y`, `\\server\share\x`, "/", "/a/b c/ü"} {
		assert.Check(t, workspace.Decode([]byte(change(t, good, r+"trees.0.dir", dir))), "index with directory %q", dir)
	}
}

func TestForgedSavesAreRefused(t *testing.T) {
	t.Parallel()
	remote := sharedRemote(t)
	forgeries := map[string]forgery{
		"git's own folder":     {files: "040000 tree TREE\t.git\n"},
		"the same, in capital": {files: "040000 tree TREE\t.GIT\n"},
		"as Windows has it":    {files: "040000 tree TREE\tgit~1\n"},
		"as macOS has it":      {files: "040000 tree TREE\t.g\u200cit\n"},
		"git's own file":       {files: "100644 blob BLOB\t.git\n"},
		"the folder above":     {files: "040000 tree TREE\t..\n"},
		"in the index":         {part: "index", files: "040000 tree TREE\t.git\n"},
		"in a stage":           {part: "stage", files: "040000 tree TREE\t1\n040000 tree TREE\t9\n"},
		"an unknown part":      {part: "hooks", files: "100644 blob BLOB\tx\n"},
		"a link and a folder":  {files: "120000 blob LINK\tx\n040000 tree TREE\tx\n"},
		"a module's settings":  {files: "120000 blob LINK\t.gitmodules\n"},
		"a missing blob":       {files: "100644 blob " + strings.Repeat("12", 20) + "\tx\n"},
	}
	for _, name := range some(names(forgeries)) {
		t.Run(name, func(t *testing.T) {
			old, here := clone(t, remote), clone(t, remote)
			from := forgeries[name].forge(t, old)
			before := everything(t, here.root, noObjects)
			_, err := restore(t, from, old, here)
			assert.Check(t, err != nil && !isConflict(err), "error: got %v, want an error other than a conflict", err)
			assert.Check(t, is.DeepEqual(everything(t, here.root, noObjects), before), "checkout after %v", err)
		})
	}
}

// TestLinksAreNotWrittenThrough checks that a restore doesn't write through links at the paths of files and
// directories, whether they are in the checkout or in the save.
func TestLinksAreNotWrittenThrough(t *testing.T) {
	remote := sharedRemote(t)
	old, here := clone(t, remote), clone(t, remote)
	base := head(t, old.checkout())
	outside := filepath.Join(here.root, "outside")
	write(t, outside, "x", "safe\n")
	sh(t, old.checkout(), "git rm -q link; mkdir link; echo evil > link/x; ln -s "+outside+" out")
	sh(t, here.checkout(), "ln -sfn "+outside+" link; git add link; git commit -q -m link")
	for range 2 {
		moveTo(t, old, here, base, old.checkout())
	}
	same(t, old.checkout(), here.checkout())
	if got := files(t, outside); len(got) != 1 || read(t, outside, "x") != "safe\n" {
		t.Errorf("files that the links lead to: got %v, want them untouched", got)
	}
}

func TestBundleMustMatchTheIndex(t *testing.T) {
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
			write(t, dir, "index.json", change(t, read(t, dir, "index.json"), "repositories.0.save", strings.Repeat("12", 20)))
		},
		"another branch": func(dir string) {
			x := change(t, read(t, dir, "index.json"), "repositories.0.branches.0.id", strings.Repeat("12", 20))
			write(t, dir, "index.json", change(t, x, "repositories.0.trees.0.head", strings.Repeat("12", 20)))
		},
		"a branch at a commit that was not saved": func(dir string) {
			x, foreign := read(t, dir, "index.json"), strings.TrimSpace(git(t, remote, "rev-parse", "main~2"))
			for i := range 2 {
				x = change(t, x, fmt.Sprintf("repositories.0.branches.%d.id", i), foreign)
				x = change(t, x, fmt.Sprintf("repositories.0.trees.%d.head", i), foreign)
			}
			write(t, dir, "index.json", x)
		},
		"no needs": func(dir string) {
			write(t, dir, "index.json", change(t, read(t, dir, "index.json"), "repositories.0.needs", []string{strings.Repeat("12", 20)}))
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
	_, err := (&workspace.Git{Limit: 100}).Restore(t.Context(), workspace.RestoreRequest{From: saved, Dir: relocated(old, clone(t, remote))})
	assert.Check(t, err != nil, "bundle over the limit: got no error, want one")
}

func TestPlainPaths(t *testing.T) {
	for path, want := range map[string]bool{
		"a": true, "a/b": true, ".gitignore": true, "git": true, ".github/x": true, "-": true, "a b/\n": true, "...a": true,
		"": false, "/a": false, "a/": false, "a//b": false, ".": false, "..": false, "a/../b": false, ".git": false, "a/.git/b": false,
		".GIT/x": false, ".git./x": false, ".git /x": false, "GIT~1/x": false, "a\x00b": false,
	} {
		assert.Check(t, is.Equal(workspace.IsPlainPath(path), want), "path %q may be written", path)
	}
}
