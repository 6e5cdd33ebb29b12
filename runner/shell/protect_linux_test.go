package shell

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
)

// tree returns a new folder with files for tests of protect.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a_test.go", "a.go", "sub/b_test.go", "sub/deep/c_test.go", "sub/deep/c.go", ".hidden/d_test.go",
		".git/e_test.go", "sub/.git/f_test.go", "testdata/x.golden", "line\nbreak_test.go", "bytes\xff_test.go"} {
		put(t, filepath.Join(dir, name), "text of "+name)
	}
	assert.NilError(t, os.Symlink("a.go", filepath.Join(dir, "link_test.go")))
	return dir
}

// put writes a file, and creates the folders that contain it.
func put(t *testing.T, path, text string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o644))
}

// changes returns the files that a verification finds changed after do has run in a folder. It
// encodes and decodes the digests in between, as they are after a crash.
func changes(t *testing.T, dir string, patterns []string, do func()) []string {
	t.Helper()
	c := checks(t, "true")
	c.Dir, c.Protect, c.Copies = dir, patterns, t.TempDir()
	before := verifying.SaveProtected(c)
	data, err := json.Marshal(before)
	assert.NilError(t, err)
	do()
	assert.NilError(t, json.Unmarshal(data, &c.Protected))
	v := verifying.Verify(t.Context(), c, silent)
	assert.Assert(t, is.Len(v.Results, 1), "results")
	assert.Check(t, is.Equal(v.Results[0].RC, 0), "results")
	if diff := cmp.Diff(before, verifying.SaveProtected(c)); diff != "" || v.Lost != nil {
		t.Errorf("after a verdict: lost %q, and not as before (-want +got):\n%s", v.Lost, diff)
	}
	return v.Changed
}

// TestProtectRestoresEveryChange checks that every kind of change is found and undone.
func TestProtectRestoresEveryChange(t *testing.T) {
	t.Parallel()
	all := []string{"**/*_test.go"}
	for name, c := range map[string]struct {
		do   func(at func(string) string)
		want []string
	}{
		"nothing":          {func(func(string) string) {}, nil},
		"other files":      {func(at func(string) string) { put(t, at("a.go"), "x"); put(t, at("new.go"), "x") }, nil},
		"written again":    {func(at func(string) string) { put(t, at("a_test.go"), "text of a_test.go") }, nil},
		"changed":          {func(at func(string) string) { put(t, at("sub/deep/c_test.go"), "x") }, []string{"sub/deep/c_test.go"}},
		"same length":      {func(at func(string) string) { put(t, at("a_test.go"), "text of b_test.go") }, []string{"a_test.go"}},
		"emptied":          {func(at func(string) string) { put(t, at("a_test.go"), "") }, []string{"a_test.go"}},
		"removed":          {func(at func(string) string) { assert.NilError(t, os.Remove(at("a_test.go"))) }, []string{"a_test.go"}},
		"folder removed":   {func(at func(string) string) { assert.NilError(t, os.RemoveAll(at("sub"))) }, []string{"sub/b_test.go", "sub/deep/c_test.go"}},
		"added":            {func(at func(string) string) { put(t, at("new/n_test.go"), "") }, []string{"new/n_test.go"}},
		"renamed":          {func(at func(string) string) { assert.NilError(t, os.Rename(at("a_test.go"), at("z_test.go"))) }, []string{"a_test.go", "z_test.go"}},
		"hidden folders":   {func(at func(string) string) { put(t, at(".hidden/d_test.go"), "x") }, []string{".hidden/d_test.go"}},
		"not those of git": {func(at func(string) string) { put(t, at(".git/e_test.go"), "x"); put(t, at("sub/.git/f_test.go"), "x") }, nil},
		"odd names": {func(at func(string) string) {
			put(t, at("line\nbreak_test.go"), "x")
			put(t, at("bytes\xff_test.go"), "x")
		}, []string{`"bytes\xff_test.go"`, `"line\nbreak_test.go"`}},
		"link elsewhere": {func(at func(string) string) {
			assert.NilError(t, os.Remove(at("link_test.go")))
			assert.NilError(t, os.Symlink("a_test.go", at("link_test.go")))
		}, []string{"link_test.go"}},
		"what a link leads to": {func(at func(string) string) { put(t, at("a.go"), "x") }, nil},
		"file to link with the same content": {func(at func(string) string) {
			assert.NilError(t, os.Rename(at("a_test.go"), at("moved")))
			assert.NilError(t, os.Symlink("moved", at("a_test.go")))
		}, []string{"a_test.go"}},
		"folder to link": {func(at func(string) string) {
			assert.NilError(t, os.Rename(at("sub"), at("moved")))
			assert.NilError(t, os.Symlink("moved", at("sub")))
		}, []string{"moved/b_test.go", "moved/deep/c_test.go", "sub/b_test.go", "sub/deep/c_test.go"}},
		"file to pipe": {func(at func(string) string) {
			assert.NilError(t, os.Remove(at("a_test.go")))
			assert.NilError(t, unix.Mkfifo(at("a_test.go"), 0o644))
		}, []string{"a_test.go"}},
		"file to folder": {func(at func(string) string) {
			assert.NilError(t, os.Remove(at("a_test.go")))
			assert.NilError(t, os.Mkdir(at("a_test.go"), 0o755))
		}, []string{"a_test.go"}},
	} {
		dir := tree(t)
		got := changes(t, dir, all, func() { c.do(func(f string) string { return filepath.Join(dir, f) }) })
		assert.Check(t, is.DeepEqual(got, c.want), name)
	}
}

// TestFileWithoutCopyIsLost checks that a changed file is reported and not touched if it has no
// copy, as on another machine. It also checks that links to other folders are not followed.
func TestFileWithoutCopyIsLost(t *testing.T) {
	dir, outside := tree(t), t.TempDir()
	c := checks(t, "true")
	c.Dir, c.Protect, c.Copies = dir, []string{"**/*_test.go", "testdata/*"}, t.TempDir()
	c.Protected = verifying.SaveProtected(c)
	put(t, filepath.Join(dir, "a_test.go"), "x")
	assert.NilError(t, os.RemoveAll(filepath.Join(dir, "sub/deep")))
	assert.NilError(t, os.Symlink(outside, filepath.Join(dir, "sub/deep")))
	assert.NilError(t, os.Rename(filepath.Join(dir, "testdata"), filepath.Join(dir, "kept")))
	put(t, filepath.Join(dir, "kept/x.golden"), "another's")
	assert.NilError(t, os.Symlink("kept", filepath.Join(dir, "testdata")))
	assert.NilError(t, os.Remove(filepath.Join(c.Copies, copyOf("a_test.go"))))
	v := verifying.Verify(t.Context(), c, silent)
	assert.Check(t, is.DeepEqual(v.Lost, []string{"a_test.go"}), "lost")
	data, err := os.ReadFile(filepath.Join(dir, "kept/x.golden"))
	assert.Check(t, is.Equal(string(data), "another's"), "a file that a link led to: got %q, %v", data, err)
	there, _ := os.ReadDir(outside)
	assert.Check(t, is.Len(there, 0), "outside of the folder")
}

// TestLinkInPlaceOfDirectoryIsNotFollowed checks that an agent can't make Verify write or remove
// files outside of its directory by replacing the directory with a link.
func TestLinkInPlaceOfDirectoryIsNotFollowed(t *testing.T) {
	dir, outside, c := tree(t), tree(t), checks(t)
	c.Dir, c.Protect, c.Copies = filepath.Join(dir, "sub"), []string{"*_test.go"}, t.TempDir()
	c.Cage = cage.New(cage.Policy{Writable: []string{dir}})
	c.Protected = verifying.SaveProtected(c)
	assert.NilError(t, errors.Join(os.Rename(c.Dir, filepath.Join(dir, "kept")), os.Symlink(outside, c.Dir)))
	assert.Check(t, is.DeepEqual(verifying.Verify(t.Context(), c, silent).Lost, []string{"b_test.go"}), "lost")
	assert.Check(t, is.Len(verifying.SaveProtected(c), 0), "files that are kept")
	_, err := os.Stat(filepath.Join(outside, "a_test.go"))
	assert.NilError(t, err)
}

// TestHugeProtectedFilesAreNotRead checks that a sparse file of terabytes is identified by its size
// and its modification time, without being read.
func TestHugeProtectedFilesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	assert.NilError(t, os.WriteFile(at("a_test.go"), nil, 0o600))
	assert.NilError(t, os.WriteFile(at("b_test.go"), []byte("b"), 0o600))
	c := runner.Order{Dir: dir, Checks: &runner.Checks{Protect: []string{"*_test.go"}, Copies: t.TempDir()}}
	before := verifying.SaveProtected(c)
	assert.NilError(t, os.Truncate(at("a_test.go"), 8<<40), "the file system of the temporary folder has no files of that size; name another one by TMPDIR")
	got := changed(before, verifying.SaveProtected(c))
	assert.Check(t, is.DeepEqual(got, []string{"a_test.go"}), "changed")
}
