//go:build unix

package action

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
)

// TestReopenRestoresAccess checks that reopen gives access to a directory and its contents, and
// follows no links.
func TestReopenRestoresAccess(t *testing.T) {
	top, other := filepath.Join(t.TempDir(), "own"), filepath.Join(t.TempDir(), "other")
	file := filepath.Join(top, "run", "state.json")
	assert.NilError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	for _, path := range []string{file, other} {
		assert.NilError(t, os.WriteFile(path, nil, 0o600))
	}
	assert.NilError(t, os.Symlink(other, filepath.Join(top, "link")))
	for _, path := range []string{file, filepath.Dir(file), top, other} {
		assert.NilError(t, os.Chmod(path, 0))
	}
	reopen(top)
	for path, want := range map[string]fs.FileMode{top: 0o700, filepath.Dir(file): 0o700, file: 0o600, other: 0} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want mode %o", path, info, err, want)
		}
	}
}

// TestForeignParentDirectoryIsNotUsed checks that a step uses another directory if the usual one
// belongs to another user, for example to a container's root, and that the post phase finds it. The
// test uses a link to itself, which no user can open.
func TestForeignParentDirectoryIsNotUsed(t *testing.T) {
	temp := t.TempDir()
	assert.NilError(t, os.Symlink("raymond", filepath.Join(temp, "raymond")))
	env := map[string]string{"RUNNER_TEMP": temp, "GITHUB_JOB": "j", "GITHUB_ACTION": "a", "STATE_part": "1"}
	j := &Job{env: Env{Environ: []string{"RUNNER_TEMP=" + temp, "GITHUB_JOB=j", "GITHUB_ACTION=a"}}, options: &options.Options{}}
	s := &scratch{note: &postNote{}}
	assert.NilError(t, s.makeOwn(j))
	assert.Equal(t, filepath.Dir(filepath.Dir(s.own)), temp)
	assert.Check(t, is.Equal(ownOfMain(func(name string) string { return env[name] }), s.own), "the post phase")
}

// TestClearRemovesIncompleteFiles checks that clearIncomplete removes only incomplete files.
func TestClearRemovesIncompleteFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{
		"checkpoint-1/state.json", "checkpoint-2.zip", "workspace-3/repo-0.bundle", "raymond-git-4/x", "k-12345678.json.tmp",
		"k-12345678.json", "k-12345678/owed.json.tmp", "k-12345678/logs/x.tmp", "step.note", "step.note.tmp", "k-12345678.journal.tmp",
	} {
		path := filepath.Join(dir, name)
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.NilError(t, os.WriteFile(path, nil, 0o600))
	}
	assert.NilError(t, clearIncomplete(dir, passing))
	var stay []string
	assert.NilError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			stay = append(stay, path)
		}
		return err
	}))
	assert.Check(t, is.DeepEqual(stay, []string{"k-12345678/logs/x.tmp", "k-12345678.json", "step.note"}))
}
