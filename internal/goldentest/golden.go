// Package goldentest compares the results of a function with expected results in files.
package goldentest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// Each calls the function found for every txtar archive whose path matches a pattern. The function gets the
// archive's files by name, except the last file, whose name is "want". Its result must equal that file. With
// -update, Each rewrites that file instead.
func Each(t *testing.T, pattern string, found func(t *testing.T, files map[string]string) string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			assert.NilError(t, err)
			files := map[string]string{}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			last := &archive.Files[len(archive.Files)-1]
			assert.Equal(t, last.Name, "want", "%s: the last file", path)
			delete(files, "want")
			switch got := found(t, files); {
			case got == string(last.Data):
			case !golden.FlagUpdate():
				t.Errorf("%s\n%s\ngot:\n%s\nwant:\n%s", path, archive.Comment, got, last.Data)
			default:
				last.Data = []byte(got)
				assert.NilError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
		})
	}
}

// Bytes decodes the escapes in a testdata file, for example <CR>, which represent bytes that the file can't
// contain.
func Bytes(text string) []byte {
	return []byte(strings.NewReplacer("<CR>", "\r", "<BOM>", "\ufeff", "<FF>", "\xff", "<NUL>", "\x00", "<TAB>", "\t").Replace(text))
}
