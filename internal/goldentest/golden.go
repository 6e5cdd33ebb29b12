// Package goldentest compares what a function makes of files with what testdata wants.
package goldentest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite what the files of testdata want")

// Each calls found with the files of every archive that a pattern names, by their names. What it returns is the file "want", the
// last one, which -update rewrites.
func Each(t *testing.T, pattern string, found func(t *testing.T, files map[string]string) string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			last := &archive.Files[len(archive.Files)-1]
			if last.Name != "want" {
				t.Fatalf("%s: the last file is %q, not want", path, last.Name)
			}
			delete(files, "want")
			switch got := found(t, files); {
			case got == string(last.Data):
			case !*update:
				t.Errorf("%s\n%s\ngot:\n%s\nwant:\n%s", path, archive.Comment, got, last.Data)
			default:
				last.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Bytes undoes the escapes that a text file of testdata needs for other bytes.
func Bytes(text string) []byte {
	return []byte(strings.NewReplacer("<CR>", "\r", "<BOM>", "\ufeff", "<FF>", "\xff", "<NUL>", "\x00", "<TAB>", "\t").Replace(text))
}
