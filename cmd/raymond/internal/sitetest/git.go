package sitetest

import (
	"os"
	"path/filepath"
	"testing"
)

// WithoutGit returns a value for PATH with which all programs on the current PATH are found, except git.
func WithoutGit(t testing.TB) (path string) {
	t.Helper()
	dir := t.TempDir()
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(from)
		for _, e := range entries {
			if e.Name() != "git" {
				_ = os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())) // the first program of a name wins, as on PATH
			}
		}
	}
	return dir
}
