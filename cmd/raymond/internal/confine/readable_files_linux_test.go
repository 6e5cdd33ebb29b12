package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestAgentLinksRevealNothing checks that links in the workspace don't make other files readable. PATH
// and other variables name these links. An agent of an earlier run, or later an agent of this run, has
// created them. The test also checks that a home directory that is a git repository doesn't become
// readable.
func TestAgentLinksRevealNothing(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	in := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	must := func(err error) {
		t.Helper()
		assert.NilError(t, err)
	}
	for _, dir := range []string{"home/.git", "home/.ssh", "home/.local/bin", "home/.local/share/keyrings", "home/work/later/bin", "temp", "own", "tools/bin"} {
		must(os.MkdirAll(in(dir), 0o700))
	}
	for _, file := range []string{"home/.ssh/id", "home/.local/share/keyrings/login", "home/work/later.pem", "tools/bin/tool"} {
		must(os.WriteFile(in(file), nil, 0o600))
	}
	link := func(from, to string) { must(os.Symlink(in(to), in(from))) }
	link("home/work/bin", "home/.ssh")
	link("home/work/file", "home/.ssh/id")
	link("alias", "home")
	link("shown", "tools/bin")
	at := Site{
		Dir: in("home/work"), Workspace: in("home/work"), Temp: in("temp"), own: in("own"),
		Environ: []string{
			"HOME=" + in("alias"), "PATH=" + strings.Join([]string{in("home/work/bin"), in("home/work/later/bin"), in("home/.local/bin"), in("shown")}, ":"),
			"FILE=" + in("home/work/file"), "LATER=" + in("home/work/later.pem"),
		},
	}
	git, _ := workspace.GitDirs(at.Dir)
	k := hiddenPaths{at.hiddenRoots(), nil}
	files := at.filePolicy(git, at.onPath(k), k)
	must(os.RemoveAll(in("home/work/later")))
	must(os.Remove(in("home/work/later.pem")))
	must(os.Mkdir(in("home/work/later"), 0o700))
	link("home/work/later/bin", "home/.ssh")
	link("home/work/later.pem", "home/.ssh/id")
	for path, want := range map[string]bool{"home/.ssh/id": false, "home/.local/share/keyrings/login": false, "tools/bin/tool": true} {
		assert.Check(t, is.Equal(files.CanRead(in(path)), want), "%s: readable; %q", path, files.Readable)
	}
}

// TestRunnerDirsAreFound checks that directories of runners are found at any depth.
func TestRunnerDirsAreFound(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.MkdirAll(filepath.Join(dir, "a/b/c/d/e/_work"), 0o700))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a/b/c/d/e/.runner"), nil, 0o600))
	assert.Check(t, is.DeepEqual(runnersBelow(dir), []string{filepath.Join(dir, "a/b/c/d/e")}))
}
